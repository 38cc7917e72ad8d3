import type { OutputChunk } from "../../engine/containers.ts";
import type { SwarmError } from "../../errors/errors.ts";
import type { LiveLines } from "../board/live-lines.ts";
import type { SwarmBoard } from "../board/swarm-board.ts";
import type { UserTerminal } from "../user-terminal.ts";
import type { TextFormatter } from "./text-formatter.ts";

/** The output of a swarm command. Results go to stdout, messages for the user to stderr. */
export interface Output {
  readonly json: boolean;
  /** Prints the command's only result: `document` as JSON if the user gave `--json`, otherwise `lines`, if any. */
  result(document: unknown, lines?: () => readonly string[]): void;
  /**
   * Prints one of the command's results: `document` as a line of JSON if the user gave `--json`, otherwise
   * `lines`.
   */
  each(document: unknown, lines: () => readonly string[]): void;
  /**
   * Opens a result on stdout that swarm redraws in place. Returns null if swarm cannot redraw, for example
   * with `--json` or without a terminal.
   */
  live(): LiveResult | null;
  /**
   * Prints one of many results, and waits until stdout accepts more output. Rejects with `OutputClosedError`
   * if the program that reads stdout has closed the pipe.
   */
  item(document: unknown, line: () => string): Promise<void>;
  /** Whether stdout is a terminal. */
  readonly isTerminal: boolean;
  /**
   * Prints a note for the user to stderr. With `--progress json`, prints the note as a JSON event; with
   * `--progress quiet`, prints nothing.
   */
  note(line: string): void;
  /** Suggests to the user which command to run next. */
  next(command: string): void;
  /**
   * If an agent runs the command, prints `hint`, unless the command has already suggested a next command with
   * `next`.
   */
  end(hint: string): void;
  /** Runs `work` under a title, and shows the user each step that `work` reports. */
  during<Result>(title: string, work: (onStep: (step: string) => void) => Promise<Result>): Promise<Result>;
  /** Opens a live view of a running swarm. While the view is open, notes are printed above it. */
  board(): SwarmBoard;
  /** Whether swarm can ask the user a question, because stdin and stderr are terminals. */
  readonly canAsk: boolean;
  /** Asks the user a question and returns the answer. Returns null if swarm cannot ask. */
  ask(question: string): Promise<string | null>;
  /**
   * Passes output of a program in a sandbox on: its stdout to swarm's stdout, and its stderr to swarm's
   * stderr. With `--json`, prints nothing.
   */
  stream(chunk: OutputChunk): Promise<void>;
  /**
   * Returns the user's terminal, to connect it to a program in a sandbox. Returns null without a terminal or
   * with `--json`.
   */
  terminal(): UserTerminal | null;
  /** Runs `work` with swarm's stdin as its input, and closes stdin afterwards. */
  withInput<Result>(work: (input: AsyncIterable<Uint8Array>) => Promise<Result>): Promise<Result>;
  /**
   * Prints an error without ending the command, which can then return an exit code of its own, such as that
   * of a program in a sandbox.
   */
  fail(error: SwarmError): void;
  readonly paint: TextFormatter;
}

/** A result on the terminal that swarm redraws in place while the result changes. */
export interface LiveResult extends LiveLines {
  readonly terminal: Pick<NodeJS.WriteStream, "rows" | "columns">;
}
