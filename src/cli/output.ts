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

/** Where a command's words go: results to stdout, everything for people to stderr. */
export interface Output {
  readonly json: boolean;
  /** A result. With `--json` the document is printed, otherwise the lines. */
  result(document: unknown, lines: () => readonly string[]): void;
  /** One of several results, as they come: a line of JSON with `--json`, otherwise the lines. */
  each(document: unknown, lines: () => readonly string[]): void;
  /** Lines of a result that are drawn again in their place; null where it goes to no terminal. */
  live(): Promise<LiveResult | null>;
  /** One of very many results, in one line or a few: waits for a reader that is slow, and ends with one that has gone. */
  item(document: unknown, line: () => string): Promise<void>;
  /** Whether results are shown on a terminal. */
  readonly isTerminal: boolean;
  /** A remark for a person, on stderr; an event with `--progress json`, nothing with `quiet`. */
  note(line: string): void;
  /** The last words of a command: what to type next. */
  next(command: string): void;
  /** The command is over: an agent is told what to type next, where it was not. */
  end(hint: string): void;
  /** Shows steps while work goes on. */
  during<Result>(title: string, work: (onStep: (step: string) => void) => Promise<Result>): Promise<Result>;
  /** Shows a swarm until it is closed; notes stand above it meanwhile. */
  board(): Promise<SwarmBoard>;
  /** Whether somebody is there to be asked. */
  readonly canAsk: boolean;
  /** Asks a question; null where nobody can answer. */
  ask(question: string): Promise<string | null>;
  /** What a program in a sandbox writes, on the stream it wrote it to. Nothing with `--json`. */
  stream(chunk: OutputChunk): Promise<void>;
  /** The user's terminal, for a program that wants one; null where there is none, or a document is wanted. */
  terminal(): UserTerminal | null;
  /** What is typed or piped in, until `work` is done with it. */
  withInput<Result>(work: (input: AsyncIterable<Uint8Array>) => Promise<Result>): Promise<Result>;
  /** Says what went wrong, for a command whose exit code is not ours. */
  fail(error: SwarmError): void;
  readonly paint: Paint;
}

/** A result that changes while it is shown. */
export interface LiveResult extends LiveLines {
  readonly terminal: Pick<NodeJS.WriteStream, "rows" | "columns">;
}

export type ProgressMode = "tty" | "plain" | "json" | "quiet";
export type Mark = "good" | "weak" | "missing";

/** Colours and glyphs as far as the terminal has them; a glyph never stands without a word. */
export interface Paint {
  bold(text: string): string;
  dim(text: string): string;
  /** A line of a diff. */
  changed(line: string): string;
  mark(mark: Mark): string;
}

export interface OutputOptions {
  readonly json: boolean;
  /** An agent reads it: documents in one line, and what to type next beside them, too. */
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
      // Whoever looks at a terminal must not be told what to see by what runs in a sandbox.
      const shown = target.isTTY ? cleanLines(Buffer.from(bytes).toString()) : bytes;
      await written(target, shown);
    },

    terminal: () => (json ? null : userTerminal({ stdin, stdout, setPlain: setOutputPlain })),

    async withInput(work) {
      try {
        return await work(stdin);
      } finally {
        // An open terminal would keep the process waiting for words that nobody reads.
        stdin.destroy();
      }
    },

    canAsk: stdin.isTTY === true && stderr.isTTY === true,

    fail: (error) => showForeseen(error, { json, stdout, stderr }),

    async ask(question) {
      if (!stdin.isTTY || !stderr.isTTY) return null;
      const { createInterface } = await import("node:readline/promises");
      const terminal = createInterface({ input: stdin, output: stderr });
      // Readline eats the Ctrl-C that the program would have got.
      terminal.once("SIGINT", () => process.kill(process.pid, "SIGINT"));
      try {
        return await terminal.question(`${question} `, { signal });
      } catch (error) {
        signal.throwIfAborted();
        // Ctrl-D: no answer is no.
        if ((error as Error).name === "AbortError") return "";
        throw error;
      } finally {
        terminal.close();
      }
    },
  };
}

const narrowest = 40;

/** `auto` is a redrawn line on a terminal, and plain lines for pipes, CI and agents. */
export function progressMode(
  wanted: "auto" | ProgressMode,
  { env, columns }: { env: Readonly<Record<string, string | undefined>>; columns: number },
): ProgressMode {
  if (wanted === "tty" && columns === 0) return "plain";
  if (wanted !== "auto") return wanted;
  return columns >= narrowest && !env["CI"] && !env["CLAUDECODE"] && env["TERM"] !== "dumb" ? "tty" : "plain";
}

/** Whether the locale can show more than ASCII. */
export function hasUnicode(env: Readonly<Record<string, string | undefined>>): boolean {
  return /utf-?8/i.test(env["LC_ALL"] || env["LC_CTYPE"] || env["LANG"] || "");
}

/** Whoever read our output has gone, as in `… | head`. */
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
      // Signals are the program's; stdout is for results.
      registerSignalListeners: false,
      renderer: "default",
      rendererOptions: {
        // What fails is reported once, by the command's own error.
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
