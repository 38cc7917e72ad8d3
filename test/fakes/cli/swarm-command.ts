import { spawn } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";

export const swarmProgram: string = fileURLToPath(new URL("../../../bin/swarm", import.meta.url));

export interface Finished {
  readonly exit: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

export interface CommandPlace {
  readonly folder: string;
  readonly env?: Readonly<Record<string, string | undefined>>;
  readonly stdin?: string;
}

/** Runs the built command as a person would, without a terminal. */
export async function swarm(
  { folder, env = {}, stdin }: CommandPlace,
  ...words: string[]
): Promise<Finished> {
  const child = spawn(swarmProgram, words, {
    cwd: folder,
    env: { ...process.env, NO_COLOR: "1", CI: "", ...env },
    stdio: ["pipe", "pipe", "pipe"],
  });
  child.stdin.on("error", () => {});
  child.stdin.end(stdin ?? "");
  const exited = once(child, "exit");
  const [stdout, stderr] = await Promise.all([child.stdout.toArray(), child.stderr.toArray()]);
  const [exit] = await exited;
  return { exit, stdout: Buffer.concat(stdout).toString(), stderr: Buffer.concat(stderr).toString() };
}
