import type { LibraryCall } from "../contract/sandbox-options.ts";
import type { Sandbox } from "./sandbox.ts";

type CheckedMethod = keyof Sandbox & keyof LibraryCall;

/** Throws if the arguments of a call to the library are invalid. */
type ArgumentCheck = (name: CheckedMethod, said: Readonly<Record<string, unknown>>) => Promise<void>;

/** The names of each method's arguments, in order. A `!` marks a required argument. */
const argumentNames: Readonly<Record<Exclude<CheckedMethod, "logs">, readonly string[]>> = {
  start: ["signal"],
  stop: ["options"],
  exec: ["command!", "options"],
  sh: ["script!", "options"],
  readFile: ["path!", "options"],
  writeFile: ["path!", "content!", "options"],
  list: ["path", "options"],
  copyIn: ["from!", "into", "options"],
  copyOut: ["path!", "into!", "options"],
  stats: ["signal"],
  commit: ["tag!", "signal"],
};

/**
 * Wraps a sandbox so that each method validates its arguments first. A missing required argument counts as
 * null, which is never valid.
 */
export function addArgumentChecks<Checked extends Sandbox>(sandbox: Checked, check: ArgumentCheck): Checked {
  const methods = Object.entries(argumentNames).map(([name, names]) => {
    const method = sandbox[name as CheckedMethod] as (...given: readonly unknown[]) => unknown;
    const checked = async (...given: readonly unknown[]): Promise<unknown> => {
      const said = names.map((argument, at) =>
        argument.endsWith("!") ? [argument.slice(0, -1), given[at] ?? null] : [argument, given[at]],
      );
      await check(name as CheckedMethod, Object.fromEntries(said));
      return method(...given);
    };
    return [name, checked];
  });
  return {
    ...sandbox,
    ...Object.fromEntries(methods),
    async *logs(options) {
      await check("logs", { options });
      yield* sandbox.logs(options);
    },
  };
}
