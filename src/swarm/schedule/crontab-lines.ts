import { delimiter, dirname, join } from "node:path";
import { SwarmError } from "../../errors/errors.ts";
import { packageFolder } from "../../machine/package-files.ts";
import type { Project } from "../../project/project.ts";
import { userCrontab } from "./crontab.ts";
import {
  crontabLine,
  findCrontabLines,
  replaceCrontabLine,
  type SwarmCronSchedule,
} from "./rules/cron-schedule.ts";

const program = join(packageFolder, "bin", "swarm");
const usualPath = ["/usr/local/sbin", "/usr/local/bin", "/usr/sbin", "/usr/bin", "/sbin", "/bin"];
/**
 * The names of the environment variables that a scheduled run needs to find the engine and swarm's folders.
 * None of these variables holds a secret, because swarm writes their values to the crontab.
 */
const neededVariables = [
  "DOCKER_HOST",
  "DOCKER_CONTEXT",
  "DOCKER_CONFIG",
  "DOCKER_TLS_VERIFY",
  "DOCKER_CERT_PATH",
  "SWARM_ENGINE",
  "SWARM_STATE_DIR",
  "XDG_STATE_HOME",
  "XDG_CONFIG_HOME",
  "XDG_RUNTIME_DIR",
];

/** Returns the crontab line for a schedule, without writing it. */
export async function planCrontabLine(
  { host: { env }, repository, identity }: Pick<Project, "host" | "identity" | "repository">,
  { at, days, commandArguments }: Pick<SwarmCronSchedule, "at" | "days" | "commandArguments">,
): Promise<string> {
  const [{ root }, { id: projectId }] = [await repository(), await identity()];
  const path = [...new Set([dirname(process.execPath), ...usualPath])].join(delimiter);
  const variables = Object.fromEntries(
    neededVariables.flatMap((name) => (env[name] ? [[name, env[name]] as const] : [])),
  );
  const environment = { PATH: path, ...variables };
  const line = crontabLine({ projectId, root, program, at, days, commandArguments, environment });
  if (line === null)
    throw new SwarmError("USAGE", {
      message:
        "the command cannot be written as a crontab line: the line is too long, or a value has a character that crontab does not allow",
    });
  return line;
}

/**
 * Writes this project's line to the user's crontab. Returns false if the crontab already has the same line.
 */
export async function installCrontabLine(
  { host: { env }, identity }: Pick<Project, "host" | "identity">,
  line: string,
): Promise<boolean> {
  const { id } = await identity();
  const crontab = userCrontab(env);
  const before = await crontab.read();
  const after = replaceCrontabLine(before, id, Buffer.from(line).toString("latin1"));
  if (after !== before) await crontab.write(after);
  return after !== before;
}

/** Removes this project's lines from the user's crontab and returns them. */
export async function removeCrontabLines({
  host: { env },
  identity,
}: Pick<Project, "host" | "identity">): Promise<readonly string[]> {
  const { id } = await identity();
  const crontab = userCrontab(env);
  const before = await crontab.read();
  const removed = findCrontabLines(before).filter(({ projectId }) => projectId === id);
  if (removed.length > 0) await crontab.write(replaceCrontabLine(before, id, null));
  return removed.map(({ line }) => readable(line));
}

/** Lists swarm's lines in the user's crontab. `isHere` is true for the lines of this project. */
export async function listCrontabLines({
  host: { env },
  identity,
}: Pick<Project, "host" | "identity">): Promise<
  readonly { readonly line: string; readonly isHere: boolean }[]
> {
  const id = await identity().then(
    (found) => found.id,
    () => null,
  );
  const lines = findCrontabLines(await userCrontab(env).read());
  return lines.map(({ projectId, line }) => ({ line: readable(line), isHere: projectId === id }));
}

/**
 * Decodes one of swarm's own crontab lines as UTF-8. The given line is decoded as Latin-1, which preserves
 * every byte of a crontab in any encoding.
 */
function readable(line: string): string {
  return Buffer.from(line, "latin1").toString();
}
