import { once } from "node:events";
import { styleText } from "node:util";
import type { OutputChunk } from "../../engine/containers.ts";
import type { SwarmError } from "../../errors/errors.ts";
import { sanitizeLines, sanitizeText } from "../../text/sanitize-text.ts";
import type { LiveLines } from "../board/live-lines.ts";
import type { SwarmBoard } from "../board/swarm-board.ts";
import { disableOutputProcessing, type UserTerminal, userTerminal } from "../user-terminal.ts";
import { printExpectedError } from "./report-failure.ts";
import { toJson, toJsonLine } from "./to-json.ts";

/** The output of a swarm command. Results go to stdout, messages for the user to stderr. */
export interface Output {
  readonly json: boolean;
  /** Prints the command's only result: `document` as JSON if the user gave `--json`, otherwise `lines`. */
  result(document: unknown, lines: () => readonly string[]): void;
  /**
   * Prints one of the command's results: `document` as a line of JSON if the user gave `--json`, otherwise
   * `lines`.
   */
  each(document: unknown, lines: () => readonly string[]): void;
  /**
   * Opens a result on stdout that swarm redraws in place. Returns null if swarm cannot redraw, for example
   * with `--json` or without a terminal.
   */
  live(): Promise<LiveResult | null>;
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
  board(): Promise<SwarmBoard>;
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

export type ProgressMode = "tty" | "plain" | "json" | "quiet";
export type RatingGlyph = "good" | "weak" | "missing";

/**
 * Functions that colour text and add glyphs, as far as the terminal can show them. A word always stands
 * beside a glyph.
 */
export interface TextFormatter {
  bold(text: string): string;
  dim(text: string): string;
  /** Colours a line of a diff by its kind: added, removed or context. */
  changed(line: string): string;
  mark(mark: RatingGlyph): string;
}

export interface OutputOptions {
  readonly json: boolean;
  /**
   * Whether an agent runs the command. JSON documents are then printed on one line, and a hint about the next
   * command follows.
   */
  readonly forAgent: boolean;
  readonly progress: ProgressMode;
  readonly stdout: NodeJS.WriteStream;
  readonly stderr: NodeJS.WriteStream;
  readonly stdin: NodeJS.ReadStream;
  readonly unicode: boolean;
  readonly signal: AbortSignal;
}

export function createOutput({
  json,
  forAgent,
  progress,
  stdout,
  stderr,
  stdin,
  unicode,
  signal,
}: OutputOptions): Output {
  const say = (line: string): void => {
    if (progress === "json") stderr.write(`${JSON.stringify({ event: "note", text: line })}\n`);
    else if (progress !== "quiet") stderr.write(`${line}\n`);
  };
  let board: SwarmBoard | null = null;
  let hasNext = false;
  return {
    json,
    end: (hint) => {
      if (forAgent && !hasNext) stderr.write(`next: ${hint}\n`);
    },
    paint: paintFor(stdout, unicode),

    result(document, lines) {
      stdout.write(
        json
          ? `${forAgent ? toJsonLine(document) : toJson(document)}\n`
          : lines()
              .map((line) => `${line}\n`)
              .join(""),
      );
    },

    each(document, lines) {
      if (json) stdout.write(`${toJsonLine(document)}\n`);
      else for (const line of lines()) stdout.write(`${line}\n`);
    },

    async live() {
      if (json || progress !== "tty" || !stdout.isTTY) return null;
      const { openLiveLines } = await import("../board/live-lines.ts");
      return { ...(await openLiveLines(stdout)), terminal: stdout };
    },

    isTerminal: stdout.isTTY === true,

    async item(document, line) {
      await written(stdout, `${json ? toJsonLine(document) : line()}\n`);
    },

    note: (line) => (board?.note ?? say)(line),

    next(command) {
      hasNext = true;
      if (forAgent && json) stderr.write(`next: ${command}\n`);
      else if (!json) say(`next: ${command}`);
    },

    async during(title, work) {
      if (progress === "tty") return duringOnTerminal(stderr, title, work);
      const show = (step: string): void => {
        if (progress === "plain") stderr.write(`${sanitizeText(step)}\n`);
        if (progress === "json")
          stderr.write(`${JSON.stringify({ event: "step", step: sanitizeText(step) })}\n`);
      };
      return work(show);
    },

    async board() {
      const { openSwarmBoard } = await import("../board/swarm-board.ts");
      const style = styleFor(stderr);
      const clock = { now: () => performance.now(), date: () => new Date() };
      const opened = await openSwarmBoard({ mode: progress, terminal: stderr, unicode, style, clock });
      board = opened;
      return {
        ...opened,
        async close() {
          board = null;
          await opened.close();
        },
      };
    },

    async stream({ stream, bytes }) {
      if (json) return;
      const target = stream === "stdout" ? stdout : stderr;
      // A program in a sandbox must not control the user's terminal with escape sequences.
      const shown = target.isTTY ? sanitizeLines(Buffer.from(bytes).toString()) : bytes;
      await written(target, shown);
    },

    terminal: () => (json ? null : userTerminal({ stdin, stdout, setPlain: disableOutputProcessing })),

    async withInput(work) {
      try {
        return await work(stdin);
      } finally {
        // An open stdin would keep this process alive.
        stdin.destroy();
      }
    },

    canAsk: stdin.isTTY === true && stderr.isTTY === true,

    fail: (error) => printExpectedError(error, { json, stdout, stderr }),

    async ask(question) {
      if (!stdin.isTTY || !stderr.isTTY) return null;
      const { createInterface } = await import("node:readline/promises");
      const terminal = createInterface({ input: stdin, output: stderr });
      // Readline consumes Ctrl-C, so pass the signal on to this process.
      terminal.once("SIGINT", () => process.kill(process.pid, "SIGINT"));
      try {
        return await terminal.question(`${question} `, { signal });
      } catch (error) {
        signal.throwIfAborted();
        // Ctrl-D counts as an empty answer.
        if ((error as Error).name === "AbortError") return "";
        throw error;
      } finally {
        terminal.close();
      }
    },
  };
}

const minColumns = 40;

/**
 * Determines how to show progress. Replaces `auto` by `tty` on a terminal, and by `plain` for a pipe, in CI
 * and for agents.
 */
export function progressMode(
  wanted: "auto" | ProgressMode,
  { env, columns }: { env: Readonly<Record<string, string | undefined>>; columns: number },
): ProgressMode {
  if (wanted === "tty" && columns === 0) return "plain";
  if (wanted !== "auto") return wanted;
  return columns >= minColumns && !env["CI"] && !env["CLAUDECODE"] && env["TERM"] !== "dumb"
    ? "tty"
    : "plain";
}

/** Returns whether the user's locale uses UTF-8, so that the terminal can show more than ASCII. */
export function localeHasUnicode(env: Readonly<Record<string, string | undefined>>): boolean {
  return /utf-?8/i.test(env["LC_ALL"] || env["LC_CTYPE"] || env["LANG"] || "");
}

/**
 * Thrown if the program that reads swarm's output has closed the pipe, as `head` does in `swarm … | head`.
 */
export class OutputClosedError extends Error {}

async function written(target: NodeJS.WriteStream, bytes: string | Uint8Array): Promise<void> {
  if (target.destroyed || target.errored)
    throw new OutputClosedError("the program that reads swarm's output has closed the pipe");
  if (target.write(bytes)) return;
  try {
    await once(target, "drain");
  } catch (error) {
    throw new OutputClosedError("the program that reads swarm's output has closed the pipe", {
      cause: error,
    });
  }
}

async function duringOnTerminal<Result>(
  stderr: NodeJS.WriteStream,
  title: string,
  work: (onStep: (step: string) => void) => Promise<Result>,
): Promise<Result> {
  const { Listr, ListrLogger, ProcessOutput } = await import("listr2");
  let result: { value: Result } | undefined;
  const tasks = new Listr(
    [
      {
        title,
        task: async (_context, task) => {
          const value = await work((step) => {
            task.output = sanitizeText(step);
          });
          result = { value };
        },
      },
    ],
    {
      // swarm handles signals itself, so listr2 must not.
      registerSignalListeners: false,
      renderer: "default",
      rendererOptions: {
        // The command reports the error once, so listr2 must not report it.
        showErrorMessage: false,
        logger: new ListrLogger({ processOutput: new ProcessOutput(stderr, stderr) }),
      },
    },
  );
  await tasks.run();
  if (!result) throw new Error(`the step "${title}" ended without a result`);
  return result.value;
}

type Style = Parameters<typeof styleText>[0];

function styleFor(stream: NodeJS.WriteStream): (format: Style, text: string) => string {
  return (format, text) => styleText(format, text, { stream, validateStream: true });
}

function paintFor(stream: NodeJS.WriteStream, unicode: boolean): TextFormatter {
  const style = styleFor(stream);
  const marks: Readonly<Record<RatingGlyph, readonly [unicode: string, ascii: string, style: Style]>> = {
    good: ["✓", "+", "green"],
    weak: ["!", "!", "yellow"],
    missing: ["✗", "x", "red"],
  };
  return {
    bold: (text) => style("bold", text),
    dim: (text) => style("dim", text),
    changed: (line) => {
      if (line.startsWith("+")) return style("green", line);
      if (line.startsWith("-")) return style("red", line);
      return line.startsWith("@@") ? style("cyan", line) : line;
    },
    mark(mark) {
      const [fancy, plain, format] = marks[mark];
      return style(format, `${unicode ? fancy : plain} ${mark.padEnd("missing".length)}`);
    },
  };
}
