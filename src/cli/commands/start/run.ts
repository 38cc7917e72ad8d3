import { stat } from "node:fs/promises";
import { usageError } from "../../../errors/errors.ts";
import { makeTask, type NewTaskChecks } from "../../../tasks/make-task.ts";
import { sanitizeText } from "../../../text/sanitize-text.ts";
import {
  type CommandHandler,
  type CommandOptions,
  textOption,
  variadicArgumentAt,
} from "../../flags/command.ts";
import { startCommand } from "./start.ts";

/** Handles `swarm run PROMPT`: writes a task file for the prompt, and runs it as `swarm start` does. */
export const swarmRunCommand: CommandHandler = async (context, args, options) => {
  const words = variadicArgumentAt(args, 0);
  await refuseFile(words[0] ?? "");
  const { verify } = options;
  const { file, branch, check, isNew } = await makeTask(context.project, {
    prompt: words.join(" "),
    branch: textOption(options, "branch"),
    verify: verify === false ? [] : Array.isArray(verify) ? verify : null,
  });
  context.output.note(
    `${isNew ? "wrote" : "reuses"} ${file}, for the branch ${branch}; \`swarm start ${file}\` carries out this task file at any time`,
  );
  context.output.note(describeCheck(check, verify === false));
  return startCommand({ ...context, words: startWords(file, options) }, [[file]], options);
};

/**
 * Throws if the user gives a file instead of a prompt, because former versions of `swarm run FILE` ran a file
 * in a sandbox.
 */
async function refuseFile(word: string): Promise<void> {
  const stats = await stat(word).catch(() => null);
  if (stats?.isFile())
    throw usageError(
      `${sanitizeText(word)} is a file: \`swarm sandbox run ${sanitizeText(word)}\` runs it. Put a prompt for \`swarm run\` in quotation marks`,
    );
}

const wordAlone = "swarm trusts the agent's own statement that the work is done";

function describeCheck(check: NewTaskChecks, isWithout: boolean): string {
  switch (check.kind) {
    case "asked":
      return isWithout ? `no check (--no-verify): ${wordAlone}` : `check: ${shown(check.commands)}`;
    case "settings":
      return `check: ${shown(check.commands)} (from the setting verify)`;
    case "found":
      return `check: ${shown([check.command])} (${check.by}); --verify sets another check, --no-verify turns checks off`;
    case "not in the image":
      return `no check: ${wordAlone}. ${check.command} (${check.by}) would be a check, but it needs programs that the sandbox image lacks: \`swarm image explain\` shows what the image contains, .aimi/Dockerfile.sandbox can add programs`;
    case "none":
      return `no check: ${wordAlone}; --verify sets a check`;
  }
}

function shown(commands: readonly string[]): string {
  return commands.map((command) => sanitizeText(command, 200)).join("; ");
}

/**
 * Returns the arguments for the `swarm start` that `swarm run -d` runs in the background. Omits options that
 * the task file already contains.
 */
function startWords(file: string, options: CommandOptions): string[] {
  const values = {
    parallel: "--parallel",
    isolation: "--isolation",
    network: "--network",
    engine: "--engine",
    maxAttempts: "--max-attempts",
  };
  const flags = { failFast: "--fail-fast", append: "--append", force: "--force", strict: "--strict" };
  return [
    "start",
    file,
    ...Object.entries(values).flatMap(([name, flag]) =>
      typeof options[name] === "string" ? [flag, options[name]] : [],
    ),
    ...Object.entries(flags).flatMap(([name, flag]) => (options[name] === true ? [flag] : [])),
  ];
}
