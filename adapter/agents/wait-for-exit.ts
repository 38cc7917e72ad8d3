import type { AgentProgram } from "./agent.ts";

/** Waits for a program to end and returns its exit code. Kills the program if it runs longer than `ms`. */
export async function waitForExitOrKill(program: AgentProgram, ms: number): Promise<number> {
  const late = Promise.withResolvers<"late">();
  const timer = setTimeout(() => late.resolve("late"), ms);
  const first = await Promise.race([program.exit, late.promise]).finally(() => clearTimeout(timer));
  if (first === "late") await program.kill();
  return await program.exit;
}

/**
 * Kills a program after `ms`, unless the returned object is disposed earlier. If the kill is in progress,
 * disposal waits for it, and throws if the kill fails.
 */
export function killProgramAfter(program: AgentProgram, ms: number): AsyncDisposable {
  let killing = Promise.resolve();
  const timer = setTimeout(() => {
    killing = program.kill();
    // Avoids an unhandled rejection: only the disposal awaits `killing`.
    killing.catch(() => {});
  }, ms);
  return {
    async [Symbol.asyncDispose]() {
      clearTimeout(timer);
      await killing;
    },
  };
}
