import type { ActivityKind, RequestedAgent } from "../../src/domain/generated/acp.ts";

/** What a coding program is asked to do: one story, or to repair it after a check failed. */
export interface Turn {
  readonly storyId: string;
  readonly prompt: string;
  /** Goes on with what was said before: a repair, or a story whose agent broke. */
  readonly continues: boolean;
  /** What to ask instead when there is nothing to go on with: the conversation was lost. Default: the prompt. */
  readonly promptAfresh?: string;
  readonly agent: RequestedAgent;
}

/** Why a turn did not do what was asked. `worker`: no other story would fare better. */
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

/** `ended`: it came to its own end, which says nothing about whether the work is right. */
export type TurnEnd = { readonly kind: "ended" } | TurnFailure;

/** What an agent is doing, said to people; a tool call that is open is no silence. */
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
  /** Of the turn alone. */
  readonly costUsd?: number;
}

/** A program that runs as the agent's user; what it writes is kept in the story's transcript. */
export interface AgentProgram {
  /** Lines of its output, without their breaks; a line of more than 8 MiB is left out. */
  readonly lines: AsyncIterable<string>;
  /** Resolves when it is out of here, or will never be: what is not waited for is kept. */
  write(text: string): Promise<void>;
  endInput(): void;
  /** SIGINT to the program alone. */
  interrupt(): void;
  /** All that the agent's user runs is ended. */
  kill(): Promise<void>;
  /** Resolves once it has ended; a signal has the code 128 + its number. */
  readonly exit: Promise<number>;
  /** The end of what it wrote on stderr, so far. */
  readonly complaint: string;
}

/** What an agent may use of its sandbox. */
export interface AgentTools {
  /** Starts a program in the work folder with the agent's environment and `env` on top. */
  start(command: readonly string[], env?: Readonly<Record<string, string>>): AgentProgram;
  /** Runs a short program as the agent's user and gives its exit code and output. */
  ask(command: readonly string[]): Promise<{ readonly code: number; readonly output: string }>;
  report(activity: AgentActivity): void;
  spend(usage: TurnUsage): void;
  /** The agent's own name of this story's conversation, kept across crashes; null before the first turn. */
  readonly conversation: { readonly id: string | null; keep(id: string): Promise<void> };
  /** The agent's environment as its programs see it. */
  readonly env: Readonly<Record<string, string>>;
}

/** A kind of coding program. */
export interface Agent {
  readonly kind: string;
  /** The program that must be in the image. */
  program(agent: RequestedAgent): string;
  /** Environment variables of which at least one must be set; none when it needs none. */
  readonly needsOneOf: readonly string[];
  /** Its version as it says itself, in one line; empty when it cannot be asked. */
  readonly versionFlags: readonly string[];
  /** Ends when the program has ended. With the signal, it is asked to stop first. */
  turn(turn: Turn, tools: AgentTools, signal: AbortSignal): Promise<TurnEnd>;
}
