import { showDuration } from "../src/domain/duration.ts";
import { TimeOver } from "./work-clock.ts";

/** How a program that was run came to its end. Only `exited` is an answer of its own. */
export type ProgramEnd =
  | { readonly kind: "exited"; readonly code: number }
  /** By a signal that is not the adapter's. */
  | { readonly kind: "killed"; readonly signal: string }
  /** Its time was over, and the adapter ended it. */
  | { readonly kind: "deadline"; readonly ms: number }
  /** What it was run for is to stop, and the adapter ended it. */
  | { readonly kind: "halted" }
  /** The system had no room for another process, or no shell. */
  | { readonly kind: "not-begun"; readonly why: string };

export interface EndedProgram {
  readonly end: ProgramEnd;
  /** The kernel ended a process of this sandbox for memory while it ran. */
  readonly isOutOfMemory: boolean;
}

/** A program did not come to an end of its own: what it was asked has no answer yet. */
export class CutOff extends Error {
  readonly end: ProgramEnd;
  readonly isOutOfMemory: boolean;

  constructor(what: string, { end, isOutOfMemory }: EndedProgram) {
    super(`${what} ${describeEnd(end)}${isOutOfMemory ? ": the sandbox's memory was used up" : ""}`);
    this.name = "CutOff";
    this.end = end;
    this.isOutOfMemory = isOutOfMemory;
  }
}

/** The code that a program answered with; throws where it was cut off before it could. */
export function exitCodeOf(what: string, program: EndedProgram): number {
  const { end, isOutOfMemory } = program;
  // A program whose own child was ended for memory gives up with a code that says nothing about the question.
  if (end.kind === "exited" && (end.code === 0 || !isOutOfMemory)) return end.code;
  throw new CutOff(what, program);
}

/** As a shell counts: 128 and the signal's number, 126 for what could not be begun. */
export function shellCode(end: ProgramEnd): number {
  switch (end.kind) {
    case "exited":
      return end.code;
    case "killed":
      return 128 + (signalNumbers[end.signal] ?? 0);
    case "not-begun":
      return 126;
    case "deadline":
    case "halted":
      return 137;
  }
}

const signalNumbers: Readonly<Record<string, number>> = {
  ...{ SIGHUP: 1, SIGINT: 2, SIGQUIT: 3, SIGILL: 4, SIGABRT: 6, SIGBUS: 7, SIGFPE: 8, SIGKILL: 9 },
  ...{ SIGSEGV: 11, SIGPIPE: 13, SIGTERM: 15 },
};

/** Goes on from the program's name: `git add` + `took longer than 2 minutes`. */
export function describeEnd(end: ProgramEnd): string {
  switch (end.kind) {
    case "exited":
      return `failed (exit ${end.code})`;
    case "killed":
      return `was killed (${end.signal})`;
    case "deadline":
      return `took longer than ${showDuration(end.ms)}`;
    case "halted":
      return "was ended, for all work is to stop";
    case "not-begun":
      return `could not be started: ${end.why}`;
  }
}

/** What a program came to that the adapter ended for this reason. */
export function endedFor(reason: unknown): ProgramEnd {
  return reason instanceof TimeOver ? { kind: "deadline", ms: reason.ms } : { kind: "halted" };
}
