import type { AgentProgram } from "./agent.ts";

/** Waits for a program that was asked to end, and kills it when it does not in time. Gives its exit code. */
export async function endWithin(program: AgentProgram, ms: number): Promise<number> {
  const late = Promise.withResolvers<"late">();
  const timer = setTimeout(() => late.resolve("late"), ms);
  const first = await Promise.race([program.exit, late.promise]).finally(() => clearTimeout(timer));
  if (first === "late") await program.kill();
  return await program.exit;
}

/** Kills a program after a while, if this is not disposed before. A kill that has begun is waited for then, and its failure thrown. */
export function killAfter(program: AgentProgram, ms: number): AsyncDisposable {
  let killing = Promise.resolve();
  const timer = setTimeout(() => {
    killing = program.kill();
    // Nobody waits for it yet.
    killing.catch(() => {});
  }, ms);
  return {
    async [Symbol.asyncDispose]() {
      clearTimeout(timer);
      await killing;
    },
  };
}
