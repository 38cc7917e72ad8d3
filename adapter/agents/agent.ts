import type { ActivityKind, RequestedAgent } from "../../src/domain/generated/acp.ts";

/** One request to an agent: to carry out a story, to continue it, or to repair it after a failed check. */
export interface AgentTurn {
  readonly storyId: string;
  readonly prompt: string;
  /**
   * Whether the turn continues the story's earlier conversation, such as for a repair or after an
   * interruption.
   */
  readonly continues: boolean;
  /** The prompt to use if the earlier conversation is lost. Default: `prompt`. */
  readonly promptForNewConversation?: string;
  readonly agent: RequestedAgent;
}

/** The reason why a turn failed. `scope` is `worker` if every other story of this worker would fail for the same reason. */
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

/** How a turn ended. `ended`: the agent ended it without an error, which does not prove that the work is right. */
export type TurnEnd = { readonly kind: "ended" } | TurnFailure;

/**
 * An agent's activity, described for people. `tool` is set if the activity starts or ends a tool call. An
 * agent with an open tool call counts as active.
 */
export interface AgentActivity {
  readonly kind: ActivityKind;
  readonly summary: string;
  readonly tool?: { readonly id: string; readonly state: "open" | "ended" };
}

/** The tokens and cost of the current turn so far. */
export interface TurnUsage {
  readonly inputTokens: number;
  readonly outputTokens: number;
  readonly cacheReadTokens: number;
  readonly cacheWriteTokens: number;
  /** The cost of the turn alone, in US dollars, without earlier turns of the conversation. */
  readonly costUsd?: number;
}

/** A program that runs as the agent's user. The adapter stores the program's output in the story's transcript. */
export interface AgentProgram {
  /** The lines of the program's output, without line breaks; a line of more than 8 MiB is left out. */
  readonly lines: AsyncIterable<string>;
  /**
   * Writes the text to the program's input. Resolves when the text is written or the program has ended. A
   * caller need not wait before it writes more text.
   */
  write(text: string): Promise<void>;
  endInput(): void;
  /** Sends SIGINT to the program itself, not to the processes that it started. */
  interrupt(): void;
  /** Kills every process of the agent's user. */
  kill(): Promise<void>;
  /**
   * The program's exit code, when it has ended. If a signal ended it, the code is 128 plus the signal's
   * number.
   */
  readonly exit: Promise<number>;
  /** The last part of the program's stderr so far. */
  readonly stderrTail: string;
}

/** The parts of the sandbox that an agent's turn may use. */
export interface TurnSandbox {
  /** Starts a program in the work folder, with the agent's environment and the variables in `env`, which take precedence. */
  start(command: readonly string[], env?: Readonly<Record<string, string>>): AgentProgram;
  /** Runs a short program as the agent's user and returns its exit code and output. */
  runCommand(command: readonly string[]): Promise<{ readonly code: number; readonly output: string }>;
  report(activity: AgentActivity): void;
  reportUsage(usage: TurnUsage): void;
  /**
   * The ID of the story's conversation with the agent; null before the first turn. `keep` stores a new ID, so
   * that it survives a crash.
   */
  readonly conversation: { readonly id: string | null; keep(id: string): Promise<void> };
  /** The environment variables of the agent's programs. */
  readonly env: Readonly<Record<string, string>>;
}

/** A kind of coding agent, such as Claude Code, and how the adapter runs it. */
export interface Agent {
  readonly kind: string;
  /** Returns the name of the program that the image must contain. */
  program(agent: RequestedAgent): string;
  /**
   * The environment variables, such as API keys, at least one of which must be set. Empty if the agent needs
   * none.
   */
  readonly needsOneOf: readonly string[];
  /** The flags with which the agent's program prints its version in one line; empty if it has no such flags. */
  readonly versionFlags: readonly string[];
  /** Runs one turn and resolves when the agent's program has ended. When `signal` aborts, first asks the program to stop. */
  runTurn(turn: AgentTurn, tools: TurnSandbox, signal: AbortSignal): Promise<TurnEnd>;
}
