import type { ActivityKind, RequestedAgent } from "../../src/domain/generated/acp.ts";

/** One request to an agent: a story, or its repair after a failed check. */
export interface Turn {
  readonly storyId: string;
  readonly prompt: string;
  /** Whether the turn continues the earlier conversation: a repair, or a story whose agent failed. */
  readonly continues: boolean;
  /** The prompt to use instead when the earlier conversation was lost. Default: `prompt`. */
  readonly promptAfresh?: string;
  readonly agent: RequestedAgent;
}

/** The reason why a turn failed. `worker`: every other story would fail, too. */
export interface TurnFailure {
  readonly kind: "failed";
  readonly code:
    | "AGENT_NOT_FOUND"
    | "AGENT_AUTH_FAILED"
    | "AGENT_CRASH"
    | "AGENT_STALLED"
    | "AGENT_LIMIT_REACHED";
  readonly message: string;
  readonly scope: "story" | "worker";
}

/** `ended`: the agent ended by itself, which does not prove that its work is right. */
export type TurnEnd = { readonly kind: "ended" } | TurnFailure;

/** An agent's activity, described for people; an open tool call counts as a sign of life. */
export interface AgentActivity {
  readonly kind: ActivityKind;
  readonly summary: string;
  readonly tool?: { readonly id: string; readonly state: "open" | "ended" };
}

/** Tokens and cost of this turn so far. */
export interface TurnUsage {
  readonly inputTokens: number;
  readonly outputTokens: number;
  readonly cacheReadTokens: number;
  readonly cacheWriteTokens: number;
  /** The cost of the turn alone. */
  readonly costUsd?: number;
}

/** A program that runs as the agent's user; the story's transcript keeps its output. */
export interface AgentProgram {
  /** The lines of its output, without line breaks; a line of more than 8 MiB is left out. */
  readonly lines: AsyncIterable<string>;
  /** Resolves when the text is written, or never can be; text that the caller does not wait for is buffered. */
  write(text: string): Promise<void>;
  endInput(): void;
  /** Sends SIGINT to the program alone. */
  interrupt(): void;
  /** Kills every process of the agent's user. */
  kill(): Promise<void>;
  /** The exit code, once the program has ended; 128 + its number for a signal. */
  readonly exit: Promise<number>;
  /** The end of its stderr so far. */
  readonly stderrTail: string;
}

/** The parts of the sandbox that an agent's turn may use. */
export interface AgentTools {
  /** Starts a program in the work folder with the agent's environment and `env` on top. */
  start(command: readonly string[], env?: Readonly<Record<string, string>>): AgentProgram;
  /** Runs a short program as the agent's user and returns its exit code and output. */
  ask(command: readonly string[]): Promise<{ readonly code: number; readonly output: string }>;
  report(activity: AgentActivity): void;
  reportUsage(usage: TurnUsage): void;
  /** The agent's ID of this story's conversation, kept across crashes; null before the first turn. */
  readonly conversation: { readonly id: string | null; keep(id: string): Promise<void> };
  /** The environment of the agent's programs. */
  readonly env: Readonly<Record<string, string>>;
}

/** A kind of coding program. */
export interface Agent {
  readonly kind: string;
  /** The program that must be in the image. */
  program(agent: RequestedAgent): string;
  /** Environment variables of which at least one must be set; none when it needs none. */
  readonly needsOneOf: readonly string[];
  /** The flags with which the program prints its version in one line; empty if it has none. */
  readonly versionFlags: readonly string[];
  /** Resolves when the program has ended. On the signal, first asks the program to stop. */
  turn(turn: Turn, tools: AgentTools, signal: AbortSignal): Promise<TurnEnd>;
}
