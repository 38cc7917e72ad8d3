import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";

/** Starts one of the test programs in `test/fakes` under the same Node. */
export function startProgram(name: string, ...args: string[]): ChildProcess {
  const program = fileURLToPath(new URL(`../${name}.ts`, import.meta.url));
  return spawn(process.execPath, [program, ...args], { stdio: ["ignore", "pipe", "inherit"] });
}

/** Resolves with the exit code; null when a signal ended it. */
export async function ended(child: ChildProcess): Promise<number | null> {
  if (child.exitCode === null && child.signalCode === null) await once(child, "exit");
  return child.exitCode;
}

/** All that it says until its end; fails where it does not end well. */
export async function said(child: ChildProcess): Promise<string> {
  const { stdout } = child;
  if (!stdout) throw new Error("It was started without its output");
  let text = "";
  for await (const piece of stdout) text += String(piece);
  const exit = await ended(child);
  if (exit !== 0) throw new Error(`It ended with ${exit ?? child.signalCode}`);
  return text;
}
