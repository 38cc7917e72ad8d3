import type { ActivityKind, RequestedAgent } from "../../src/contract/acp.ts";

/**
 * What the adapter asks of an agent in one turn: to carry out a story, to continue it, or to repair the work
 * after a failed check.
 */
export interface AgentTurn {
  readonly storyId: string;
  readonly prompt: string;
  /**
   * Whether the turn continues the story's earlier conversation with the agent, for example for a repair or
   * after an interruption.
   */
  readonly continues: boolean;
  /** The prompt to use if the agent no longer has the earlier conversation. Default: `prompt`. */
  readonly promptForNewConversation?: string;
  readonly agent: RequestedAgent;
}

/**
 * The reason why a turn failed. `scope` is `worker` if the worker's other stories would fail for the same
 * reason.
 */
export interface TurnFailure {
  readonly kind: "failed";
  readonly code:
    | "AGENT_NOT_FOUND"
    | "AGENT_AUTH_FAILED"
    | "AGENT_CRASH"
    | "AGENT_STALLED"
    | "AGENT_LIMIT_REACHED"
    | "CONTAINER_OOM"
    | "PROCESSES_EXHAUSTED";
  readonly message: string;
  readonly scope: "story" | "worker";
}

/**
 * How a turn ended. `ended` means that the agent stopped without an error, but not that its work is correct.
 */
export type TurnEnd = { readonly kind: "ended" } | TurnFailure;

/**
 * What an agent does at one moment, described for people. `tool` is set if a tool call starts or ends; while
 * a tool call is open, the adapter does not consider the agent idle.
 */
export interface AgentActivity {
  readonly kind: ActivityKind;
  readonly summary: string;
  readonly tool?: { readonly id: string; readonly state: "open" | "ended" };
}

/** The tokens and the cost of the current turn up to now. */
export interface TurnUsage {
  readonly inputTokens: number;
  readonly outputTokens: number;
  readonly cacheReadTokens: number;
  readonly cacheWriteTokens: number;
  /**
   * The cost of this turn alone, in US dollars. The cost of earlier turns of the conversation is not
   * included.
   */
  readonly costUsd?: number;
}

/**
 * A program that runs as the agent's Linux user. The adapter stores the program's output in the story's
 * transcript.
 */
export interface AgentProgram {
  /** The lines of the program's output, without line breaks. A line of more than 8 MiB is left out. */
  readonly lines: AsyncIterable<string>;
  /**
   * Writes the text to the program's stdin, and resolves when it is written or the program has ended. A
   * caller may write more text without waiting.
   */
  write(text: string): Promise<void>;
  endInput(): void;
  /** Sends SIGINT to the program, but not to the processes that it started. */
  interrupt(): void;
  /** Kills every process of the agent's Linux user. */
  kill(): Promise<void>;
  /**
   * Resolves with the program's exit code when the program has ended. If a signal killed it, the code is 128
   * plus the signal's number.
   */
  readonly exit: Promise<number>;
  /** The last part of what the program has written to stderr so far. */
  readonly stderrTail: string;
}

/**
 * What an agent's turn may use in the sandbox, such as starting programs and the agent's environment
 * variables.
 */
export interface TurnSandbox {
  /**
   * Starts a program in the work folder. The program gets the agent's environment variables and those in
   * `env`, which take precedence.
   */
  start(command: readonly string[], env?: Readonly<Record<string, string>>): AgentProgram;
  /** Runs a short program as the agent's Linux user, and returns its exit code and output. */
  runCommand(command: readonly string[]): Promise<{ readonly code: number; readonly output: string }>;
  report(activity: AgentActivity): void;
  reportUsage(usage: TurnUsage): void;
  /**
   * The ID of the agent's conversation about the story; null before the first turn. `keep` stores a new ID on
   * disk, so that it survives a crash.
   */
  readonly conversation: { readonly id: string | null; keep(id: string): Promise<void> };
  /** The environment variables for the agent's programs. */
  readonly env: Readonly<Record<string, string>>;
}

/** A kind of coding agent, such as Claude Code, and how the adapter runs it. */
export interface Agent {
  readonly kind: string;
  /** Returns the name of the agent's program, which the image must contain. */
  program(agent: RequestedAgent): string;
  /**
   * The environment variables for the agent's credentials, such as API keys. At least one must be set; if the
   * list is empty, the agent needs none.
   */
  readonly needsOneOf: readonly string[];
  /**
   * The flags with which the agent's program prints its version in one line; empty if there are no such
   * flags.
   */
  readonly versionFlags: readonly string[];
  /**
   * Runs one turn, and resolves when the agent's program has ended. When `signal` aborts, asks the program to
   * stop before killing it.
   */
  runTurn(turn: AgentTurn, tools: TurnSandbox, signal: AbortSignal): Promise<TurnEnd>;
}
