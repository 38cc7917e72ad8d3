import { realpathSync, writeSync } from "node:fs";
import { enableCompileCache } from "node:module";
import { dirname, join } from "node:path";
import { version } from "./cli/version.ts";
import type { QuickContext } from "./hooks/quick-answers.ts";
import { userFolders } from "./host/user-folders.ts";

// Commands that prompts, scripts and hooks run constantly take fast paths; only the others load the whole program.
const words: readonly string[] = process.argv.slice(2);

void run();

async function run(): Promise<void> {
  const [command = "status"] = words;
  if (words.length === 1 && (command === "--version" || command === "-V")) {
    write(`${version}\n`);
    return;
  }
  if (command === "hook" || command === "statusline") {
    const { answerQuickly } = await import("./hooks/quick-answers.ts");
    // Ignores errors such as a deleted folder: no user would see them.
    if (await answerQuickly(words, quickPlace).catch(() => true)) return;
  }
  forgiveClosedOutput();
  if (command === "status") {
    const { quickStatus } = await import("./quick-status.ts");
    if (await quickStatus(words, process.env)) return;
  }
  // Keeps the cache beside the program, so that only users who can write the program can write the cache. A user who
  // cannot write there gets no cache.
  enableCompileCache(join(programFolder(), ".compiled"));
  const { runWholeProgram } = await import("./whole-program.ts");
  process.exitCode = await runWholeProgram(words);
}

function quickPlace(): QuickContext {
  const { state, config } = userFolders(process.env);
  return {
    ...{ folder: process.cwd(), root: dirname(programFolder()) },
    ...{ stateFolder: state, configFolder: config, env: process.env },
    projectFolder: process.env["CLAUDE_PROJECT_DIR"] || null,
    write,
  };
}

/** The folder of the bundle, `dist`. */
function programFolder(): string {
  return dirname(realpathSync(process.argv[1] ?? "."));
}

/** Writes without `process.stdout`, whose creation takes as long as the answer. */
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
  // `swarm … | head` closes the output early, which is no failure. On a full disk an error could not be printed either.
  if (code !== "EPIPE") process.exitCode = 3;
}
