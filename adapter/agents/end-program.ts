import type { AgentProgram } from "./agent.ts";

/** Waits for a program to end, kills it if it does not in time, and returns its exit code. */
export async function endWithin(program: AgentProgram, ms: number): Promise<number> {
  const late = Promise.withResolvers<"late">();
  const timer = setTimeout(() => late.resolve("late"), ms);
  const first = await Promise.race([program.exit, late.promise]).finally(() => clearTimeout(timer));
  if (first === "late") await program.kill();
  return await program.exit;
}

/** Kills a program after a delay, unless disposed before. Disposal awaits a kill that has begun, and throws its failure. */
export function killAfter(program: AgentProgram, ms: number): AsyncDisposable {
  let killing = Promise.resolve();
  const timer = setTimeout(() => {
    killing = program.kill();
    // Only disposal awaits it; an earlier failure must not go unhandled.
    killing.catch(() => {});
  }, ms);
  return {
    async [Symbol.asyncDispose]() {
      clearTimeout(timer);
      await killing;
    },
  };
}
