import { constants } from "node:os";
import { formatDuration } from "../../src/text/duration-and-size.ts";
import { TimeLimitReached } from "./pause-aware-clock.ts";

/**
 * How a program ended. In all cases but `exited`, the program was killed or did not start, so it gave no
 * result of its own.
 */
export type ProgramEnd =
  | { readonly kind: "exited"; readonly code: number }
  /** A signal that the adapter did not send ended the program. */
  | { readonly kind: "killed"; readonly signal: NodeJS.Signals }
  /** The adapter killed the program because it exceeded its time limit. */
  | { readonly kind: "deadline"; readonly ms: number }
  /** The adapter killed the program because all work of the task stops. */
  | { readonly kind: "halted" }
  /** The program did not start, because the system could not create a process or the image has no shell. */
  | { readonly kind: "not-begun"; readonly why: string };

export interface EndedProgram {
  readonly end: ProgramEnd;
  /** Whether the kernel's OOM killer killed any process of this sandbox while the program ran. */
  readonly isOutOfMemory: boolean;
}

/**
 * Thrown when a program's exit code is missing or meaningless, because the program did not start, was killed,
 * or failed while the sandbox was out of memory.
 */
export class ProgramResultUnknownError extends Error {
  readonly end: ProgramEnd;
  readonly isOutOfMemory: boolean;

  constructor(what: string, { end, isOutOfMemory }: EndedProgram) {
    super(`${what} ${describeProgramEnd(end)}${isOutOfMemory ? ": the sandbox's memory was used up" : ""}`);
    this.name = "CutOff";
    this.end = end;
    this.isOutOfMemory = isOutOfMemory;
  }
}

/**
 * Returns a program's exit code. Throws `ProgramResultUnknownError` if there is none, or if the program failed while
 * the sandbox was out of memory.
 */
export function requireExitCode(what: string, program: EndedProgram): number {
  const { end, isOutOfMemory } = program;
  // A failure counts only if memory sufficed: if the OOM killer ended a child process, the exit code says nothing about
  // the question.
  if (end.kind === "exited" && (end.code === 0 || !isOutOfMemory)) return end.code;
  throw new ProgramResultUnknownError(what, program);
}

/**
 * Returns the exit code that a shell would report: 128 plus the signal's number for a killed program, and 126 for a
 * program that could not start.
 */
export function shellExitCode(end: ProgramEnd): number {
  switch (end.kind) {
    case "exited":
      return end.code;
    case "killed":
      return 128 + constants.signals[end.signal];
    case "not-begun":
      return 126;
    case "deadline":
    case "halted":
      return 137;
  }
}

/**
 * Describes how a program ended, in words that follow the program's name. An example is `took longer than 2
 * minutes` after `git add`.
 */
export function describeProgramEnd(end: ProgramEnd): string {
  switch (end.kind) {
    case "exited":
      return `failed (exit ${end.code})`;
    case "killed":
      return `was killed (${end.signal})`;
    case "deadline":
      return `took longer than ${formatDuration(end.ms)}`;
    case "halted":
      return "was killed because the adapter is stopping all programs";
    case "not-begun":
      return `could not be started: ${end.why}`;
  }
}

/**
 * Returns how a program ended that the adapter killed. `reason` is the abort reason of the signal that led to
 * the kill.
 */
export function programEndForAbortReason(reason: unknown): ProgramEnd {
  return reason instanceof TimeLimitReached ? { kind: "deadline", ms: reason.ms } : { kind: "halted" };
}
