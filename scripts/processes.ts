import { spawn } from "node:child_process";
import { fileURLToPath } from "node:url";

/** The clone. */
export const root: string = fileURLToPath(new URL("..", import.meta.url));

/** The path of a development tool's program. */
export function tool(name: string): string {
  return `${root}/node_modules/.bin/${name}`;
}

/** A program with its arguments. */
export type Command = readonly [program: string, ...args: string[]];

/** Runs a program in the clone with its output shown; resolves with its exit code. */
export function run(
  [program, ...args]: Command,
  env: Readonly<Record<string, string>> = {},
): Promise<number> {
  const { promise, resolve, reject } = Promise.withResolvers<number>();
  const child = spawn(program, args, {
    cwd: root,
    stdio: ["ignore", "inherit", "inherit"],
    env: { ...process.env, ...env },
  });
  child.once("error", reject);
  child.once("exit", (code, signal) => resolve(signal ? 1 : (code ?? 1)));
  return promise;
}
