import { delimiter, dirname, join } from "node:path";
import type { ScheduleOperations } from "../cli/composition.ts";
import type { ProjectRef } from "../contract/swarm-state.ts";
import { SwarmError } from "../errors/errors.ts";
import type { Repository } from "../git/find-repository.ts";
import { packageFolder } from "../machine/package-folder.ts";
import type { EnvironmentVariables } from "../machine/user-folders.ts";
import { crontabLine, findCrontabLines, replaceCrontabLine } from "../swarm/schedule/rules/cron-schedule.ts";
import { once } from "../text/once.ts";

export interface ScheduleOperationsDeps {
  readonly env: EnvironmentVariables;
  readonly repository: () => Promise<Repository>;
  readonly project: () => Promise<ProjectRef>;
}

const program = join(packageFolder, "bin", "swarm");
const usualPath = ["/usr/local/sbin", "/usr/local/bin", "/usr/sbin", "/usr/bin", "/sbin", "/bin"];
/**
 * The names of the environment variables that a scheduled run needs to find the engine and swarm's folders.
 * None of these variables holds a secret, because swarm writes their values to the crontab.
 */
const needed = [
  ...["DOCKER_HOST", "DOCKER_CONTEXT", "DOCKER_CONFIG", "DOCKER_TLS_VERIFY", "DOCKER_CERT_PATH"],
  ...["SWARM_ENGINE", "SWARM_STATE_DIR", "XDG_STATE_HOME", "XDG_CONFIG_HOME", "XDG_RUNTIME_DIR"],
];

/** Creates the operations that schedule swarm runs in the user's crontab. */
export function createScheduleOperations({
  env,
  repository,
  project,
}: ScheduleOperationsDeps): ScheduleOperations {
  const crontab = once(async () => {
    const { userCrontab } = await import("../swarm/schedule/crontab.ts");
    return userCrontab(env);
  });

  return {
    async plan({ at, days, commandArguments }) {
      const [{ root }, { id: projectId }] = [await repository(), await project()];
      const path = [...new Set([dirname(process.execPath), ...usualPath])].join(delimiter);
      const environment = Object.fromEntries(
        needed.flatMap((name) => (env[name] ? [[name, env[name]] as const] : [])),
      );
      const line = crontabLine({
        ...{ projectId, root, program, at, days, commandArguments },
        environment: { PATH: path, ...environment },
      });
      if (line === null)
        throw new SwarmError("USAGE", {
          message:
            "the command cannot be written as a crontab line: the line is too long, or a value has a character that crontab does not allow",
        });
      return line;
    },

    async install(line) {
      const { id } = await project();
      const table = await crontab();
      const before = await table.read();
      const after = replaceCrontabLine(before, id, Buffer.from(line).toString("latin1"));
      if (after !== before) await table.write(after);
      return after !== before;
    },

    async remove() {
      const { id } = await project();
      const table = await crontab();
      const before = await table.read();
      const removed = findCrontabLines(before).filter(({ projectId }) => projectId === id);
      if (removed.length > 0) await table.write(replaceCrontabLine(before, id, null));
      return removed.map(({ line }) => readable(line));
    },

    async list() {
      const id = await project().then(
        (found) => found.id,
        () => null,
      );
      const nights = findCrontabLines(await (await crontab()).read());
      return nights.map(({ projectId, line }) => ({ line: readable(line), isHere: projectId === id }));
    },
  };
}

/**
 * Decodes one of swarm's own crontab lines as UTF-8. The given line is decoded as Latin-1, which preserves
 * every byte of a crontab in any encoding.
 */
function readable(line: string): string {
  return Buffer.from(line, "latin1").toString();
}
