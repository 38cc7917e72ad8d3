import { realpathSync, writeSync } from "node:fs";
import { enableCompileCache } from "node:module";
import { dirname, join } from "node:path";
import type { FastHookInput } from "./claude-code/fast-hooks.ts";
import type { ListContainersOfProject } from "./cli/quick-status.ts";
import { version } from "./cli/version.ts";
import { userFolders } from "./machine/user-folders.ts";

// Prompts, scripts and hooks run some commands constantly. Those commands take fast paths; all others load
// the whole program.
const words: readonly string[] = process.argv.slice(2);

void run();

async function run(): Promise<void> {
  const [command = "status"] = words;
  if (words.length === 1 && (command === "--version" || command === "-V")) {
    write(`${version}\n`);
    return;
  }
  if (command === "hook" || command === "statusline") {
    const { answerFastHook } = await import("./claude-code/fast-hooks.ts");
    // Ignores errors, such as a deleted working folder: hooks and status lines show no errors to the user.
    if (await answerFastHook(words, quickPlace).catch(() => true)) return;
  }
  forgiveClosedOutput();
  if (command === "status") {
    const { printQuickStatus } = await import("./cli/quick-status.ts");
    if (await printQuickStatus(words, process.env, listContainers)) return;
  }
  // Keeps Node's compile cache beside the program, so that only users who can write the program can write the
  // cache. If this user cannot write there, there is no cache.
  enableCompileCache(join(programFolder(), ".compiled"));
  const { runProgram } = await import("./app/run-program.ts");
  process.exitCode = await runProgram(words);
}

// Loads the request only if the status depends on containers.
const listContainers: ListContainersOfProject = async (socket, projectId) =>
  (await import("./app/list-containers.ts")).listContainersOfProject(socket, projectId);

function quickPlace(): FastHookInput {
  const { state, config } = userFolders(process.env);
  return {
    folder: process.cwd(),
    root: dirname(programFolder()),
    stateFolder: state,
    configFolder: config,
    env: process.env,
    projectFolder: process.env["CLAUDE_PROJECT_DIR"] || null,
    write,
  };
}

/** Returns the path of `dist`, the folder of the bundled program. */
function programFolder(): string {
  return dirname(realpathSync(process.argv[1] ?? "."));
}

/**
 * Writes to stdout without `process.stdout`, because creating that stream would double the run time of a fast
 * command.
 */
function write(text: string): void {
  try {
    writeSync(1, text);
  } catch (error) {
    failedOutput(error as NodeJS.ErrnoException);
  }
}

function forgiveClosedOutput(): void {
  for (const stream of [process.stdout, process.stderr]) stream.on("error", failedOutput);
}

function failedOutput({ code }: NodeJS.ErrnoException): void {
  // EPIPE is no failure: `swarm … | head` closes the output early. Other errors, such as a full disk, only
  // set the exit code, because they could not be printed.
  if (code !== "EPIPE") process.exitCode = 3;
}
