import { spawn } from "node:child_process";
import { mkdir, writeFile } from "node:fs/promises";
import { dirname, isAbsolute, resolve } from "node:path";
import { text } from "node:stream/consumers";
import { setTimeout as delay } from "node:timers/promises";
import type { ScriptStep, ScriptSteps } from "../src/contract/script-agent.ts";
import { sanitizeText } from "../src/text/sanitize-text.ts";

/**
 * Executes the steps of a scripted agent in the current folder, and returns an exit code. Reads the steps as
 * JSON from `input`.
 */
export async function runScriptedAgent(
  input: NodeJS.ReadableStream,
  say: (line: string) => void,
): Promise<number> {
  const steps = JSON.parse(await text(input)) as ScriptSteps;
  for (const step of steps) {
    const code = await executeStep(step, say);
    if (code !== null) return code;
  }
  return 0;
}

/** Executes one step. Returns an exit code if the script ends with this step, else null. */
async function executeStep(step: ScriptStep, say: (line: string) => void): Promise<number | null> {
  const { write, run, say: words, sleepMs, exit } = step;
  if (write) {
    if (isAbsolute(write.path) || write.path.split("/").includes("..")) {
      process.stderr.write(
        `${sanitizeText(write.path)} was not written: the path is not below the current folder\n`,
      );
      return 2;
    }
    const file = resolve(write.path);
    await mkdir(dirname(file), { recursive: true });
    await writeFile(file, write.content);
    say(`wrote ${write.path}`);
  }
  if (run) {
    say(`ran ${run.join(" ")}`);
    const code = await runProgram(run);
    if (code !== 0) {
      process.stderr.write(`${run.join(" ")} exited with code ${code}\n`);
      return code;
    }
  }
  if (words !== undefined) say(words);
  if (sleepMs !== undefined) await delay(sleepMs);
  return exit ?? null;
}

function runProgram([program = "", ...args]: readonly string[]): Promise<number> {
  return new Promise((done) => {
    const child = spawn(program, args, { stdio: ["ignore", "inherit", "inherit"] });
    child.once("error", (error) => {
      process.stderr.write(`${error.message}\n`);
      done(127);
    });
    child.once("exit", (code) => done(code ?? 1));
  });
}
