export { type ComposeOptions, compose } from "./compose.ts";
export { type ErrorCode, type ErrorReport, isError, SwarmError } from "./domain/errors.ts";
export { type ExitCode, exitCodes } from "./domain/exit-codes.ts";
export type { TaskFile } from "./domain/generated/tasks.ts";
export type { SwarmPlan } from "./domain/plan.ts";
export type { ContainerRecord, SwarmState } from "./domain/swarm-state.ts";
