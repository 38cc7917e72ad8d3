import { realpathSync, writeSync } from "node:fs";
import { enableCompileCache } from "node:module";
import { dirname, join } from "node:path";
import { version } from "./cli/version.ts";
import type { QuickPlace } from "./hooks/quick-answers.ts";
import { userFolders } from "./host/user-folders.ts";

// What prompts, scripts and hooks ask all the time has a file of its own; the rest is loaded for the rest.
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
    // Whatever is odd, like a folder that is gone: nobody there could do anything about an error.
    if (await answerQuickly(words, quickPlace).catch(() => true)) return;
  }
  forgiveClosedOutput();
  if (command === "status") {
    const { quickStatus } = await import("./quick-status.ts");
    if (await quickStatus(words, process.env)) return;
  }
  // Beside the program, so that nobody can write it who cannot write the program; where that is nobody here, there is none.
  enableCompileCache(join(programFolder(), ".compiled"));
  const { runWholeProgram } = await import("./whole-program.ts");
  process.exitCode = await runWholeProgram(words);
}

function quickPlace(): QuickPlace {
  const { state, config } = userFolders(process.env);
  return {
    ...{ folder: process.cwd(), root: dirname(programFolder()) },
    ...{ stateFolder: state, configFolder: config, env: process.env },
    projectFolder: process.env["CLAUDE_PROJECT_DIR"] || null,
    write,
  };
}

/** `dist`, wherever that is. */
function programFolder(): string {
  return dirname(realpathSync(process.argv[1] ?? "."));
}

/** Without the streams of the process, which take as long to make as the answer. */
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
  // `swarm … | head` closes our output early, which is no failure. Behind a full disk there is nowhere left to say more.
  if (code !== "EPIPE") process.exitCode = 3;
}
