import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";

/** Starts one of the test programs beside this file under the same Node. */
export function startProgram(name: string, ...args: string[]): ChildProcess {
  const program = fileURLToPath(new URL(`./${name}.ts`, import.meta.url));
  return spawn(process.execPath, [program, ...args], { stdio: ["ignore", "pipe", "inherit"] });
}

/** Resolves with the exit code; null when a signal ended it. */
export async function ended(child: ChildProcess): Promise<number | null> {
  if (child.exitCode === null && child.signalCode === null) await once(child, "exit");
  return child.exitCode;
}
