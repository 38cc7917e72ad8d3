import { once } from "node:events";
import { styleText } from "node:util";
import { cleanLines, cleanText } from "../domain/clean-text.ts";
import type { SwarmError } from "../domain/errors.ts";
import type { OutputChunk } from "../ports/containers.ts";
import type { LiveLines } from "./board/live-lines.ts";
import type { SwarmBoard } from "./board/swarm-board.ts";
import { showForeseen } from "./report-failure.ts";
import { toJson, toJsonLine } from "./to-json.ts";
import { setOutputPlain, type UserTerminal, userTerminal } from "./user-terminal.ts";

/** A command's output: results to stdout, messages for the user to stderr. */
export interface Output {
  readonly json: boolean;
  /** Prints a result: the document with `--json`, otherwise the lines. */
  result(document: unknown, lines: () => readonly string[]): void;
  /** Prints one of several results: a line of JSON with `--json`, otherwise the lines. */
  each(document: unknown, lines: () => readonly string[]): void;
  /** Opens a result that is redrawn in place; null when stdout is no terminal. */
  live(): Promise<LiveResult | null>;
  /** Prints one of many results with back-pressure; rejects when the reader has closed the output. */
  item(document: unknown, line: () => string): Promise<void>;
  /** Whether results are shown on a terminal. */
  readonly isTerminal: boolean;
  /** Prints a note to stderr: an event with `--progress json`, nothing with `quiet`. */
  note(line: string): void;
  /** Prints the command to type next. */
  next(command: string): void;
  /** Ends the command: prints a hint for an agent, unless `next` has printed one. */
  end(hint: string): void;
  /** Shows the steps of work in progress. */
  during<Result>(title: string, work: (onStep: (step: string) => void) => Promise<Result>): Promise<Result>;
  /** Opens a view of a swarm, with notes above it, until it is closed. */
  board(): Promise<SwarmBoard>;
  /** Whether a user can answer questions on a terminal. */
  readonly canAsk: boolean;
  /** Asks the user a question; null without a terminal. */
  ask(question: string): Promise<string | null>;
  /** Prints the output of a program in a sandbox to the same stream; nothing with `--json`. */
  stream(chunk: OutputChunk): Promise<void>;
  /** The user's terminal, for a program in a sandbox; null when there is none, or with `--json`. */
  terminal(): UserTerminal | null;
  /** Passes stdin to `work`, and closes it afterwards. */
  withInput<Result>(work: (input: AsyncIterable<Uint8Array>) => Promise<Result>): Promise<Result>;
  /** Prints an error, for a command whose exit code is that of a program in a sandbox. */
  fail(error: SwarmError): void;
  readonly paint: Paint;
}

/** A result that changes while it is shown. */
export interface LiveResult extends LiveLines {
  readonly terminal: Pick<NodeJS.WriteStream, "rows" | "columns">;
}

export type ProgressMode = "tty" | "plain" | "json" | "quiet";
export type Mark = "good" | "weak" | "missing";

/** Colours and glyphs that the terminal supports; a glyph always comes with a word. */
export interface Paint {
  bold(text: string): string;
  dim(text: string): string;
  /** A line of a diff. */
  changed(line: string): string;
  mark(mark: Mark): string;
}

export interface OutputOptions {
  readonly json: boolean;
  /** Whether an agent reads the output: documents take one line, and hints come with them. */
  readonly forAgent: boolean;
  readonly progress: ProgressMode;
  readonly stdout: NodeJS.WriteStream;
  readonly stderr: NodeJS.WriteStream;
  readonly stdin: NodeJS.ReadStream;
  readonly unicode: boolean;
  readonly signal: AbortSignal;
}

export function openOutput({
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
      const { openLiveLines } = await import("./board/live-lines.ts");
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
        if (progress === "plain") stderr.write(`${cleanText(step)}\n`);
        if (progress === "json")
          stderr.write(`${JSON.stringify({ event: "step", step: cleanText(step) })}\n`);
      };
      return work(show);
    },

    async board() {
      const { openSwarmBoard } = await import("./board/swarm-board.ts");
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
      const shown = target.isTTY ? cleanLines(Buffer.from(bytes).toString()) : bytes;
      await written(target, shown);
    },

    terminal: () => (json ? null : userTerminal({ stdin, stdout, setPlain: setOutputPlain })),

    async withInput(work) {
      try {
        return await work(stdin);
      } finally {
        // An open stdin would keep the process alive.
        stdin.destroy();
      }
    },

    canAsk: stdin.isTTY === true && stderr.isTTY === true,

    fail: (error) => showForeseen(error, { json, stdout, stderr }),

    async ask(question) {
      if (!stdin.isTTY || !stderr.isTTY) return null;
      const { createInterface } = await import("node:readline/promises");
      const terminal = createInterface({ input: stdin, output: stderr });
      // Readline consumes Ctrl-C, so pass it on to the process.
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

/** Resolves `auto`: `tty` on a terminal, `plain` for pipes, CI and agents. */
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

/** Whether the locale can show more than ASCII. */
export function hasUnicode(env: Readonly<Record<string, string | undefined>>): boolean {
  return /utf-?8/i.test(env["LC_ALL"] || env["LC_CTYPE"] || env["LANG"] || "");
}

/** The reader of the output has closed it, as in `… | head`. */
export class OutputClosedError extends Error {}

async function written(target: NodeJS.WriteStream, bytes: string | Uint8Array): Promise<void> {
  if (target.destroyed || target.errored) throw new OutputClosedError("the output is closed");
  if (target.write(bytes)) return;
  try {
    await once(target, "drain");
  } catch (error) {
    throw new OutputClosedError("the output is closed", { cause: error });
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
            task.output = cleanText(step);
          });
          result = { value };
        },
      },
    ],
    {
      // The process handles signals itself.
      registerSignalListeners: false,
      renderer: "default",
      rendererOptions: {
        // The command reports the error once.
        showErrorMessage: false,
        logger: new ListrLogger({ processOutput: new ProcessOutput(stderr, stderr) }),
      },
    },
  );
  await tasks.run();
  if (!result) throw new Error(`${title} ended without a result`);
  return result.value;
}

type Style = Parameters<typeof styleText>[0];

function styleFor(stream: NodeJS.WriteStream): (format: Style, text: string) => string {
  return (format, text) => styleText(format, text, { stream, validateStream: true });
}

function paintFor(stream: NodeJS.WriteStream, unicode: boolean): Paint {
  const style = styleFor(stream);
  const marks: Readonly<Record<Mark, readonly [unicode: string, ascii: string, style: Style]>> = {
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
