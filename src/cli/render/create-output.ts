import { once } from "node:events";
import { sanitizeLines, sanitizeText } from "../../text/sanitize-text.ts";
import { openLiveLines } from "../board/live-lines.ts";
import { openSwarmBoard, type SwarmBoard } from "../board/swarm-board.ts";
import { disableOutputProcessing, userTerminal } from "../user-terminal.ts";
import type { Output } from "./output.ts";
import type { ProgressMode } from "./progress-mode.ts";
import { printExpectedError } from "./report-failure.ts";
import { styleFor, textFormatter } from "./text-formatter.ts";
import { toJson, toJsonLine } from "./to-json.ts";

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

export function createOutput(options: OutputOptions): Output {
  const { json, forAgent, progress, stdout, stderr, stdin, unicode } = options;
  const canAsk = stdin.isTTY && stderr.isTTY;
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
    paint: textFormatter(stdout, unicode),

    result(document, lines = () => []) {
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

    live: () =>
      json || progress !== "tty" || !stdout.isTTY ? null : { ...openLiveLines(stdout), terminal: stdout },

    isTerminal: stdout.isTTY === true,

    item: (document, line) => written(stdout, `${json ? toJsonLine(document) : line()}\n`),

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

    board() {
      const opened = openSwarmBoard({
        mode: progress,
        terminal: stderr,
        unicode,
        style: styleFor(stderr),
      });
      board = opened;
      return {
        ...opened,
        close() {
          board = null;
          opened.close();
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

    canAsk,

    fail: (error) => printExpectedError(error, { json, stdout, stderr }),

    ask: async (question) => (canAsk ? askOnTerminal(options, question) : null),
  };
}

async function askOnTerminal(
  { stdin, stderr, signal }: Pick<OutputOptions, "stdin" | "stderr" | "signal">,
  question: string,
): Promise<string> {
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
}

/**
 * Thrown if the program that reads swarm's output has closed the pipe, as `head` does in `swarm … | head`.
 */
export class OutputClosedError extends Error {}

async function written(target: NodeJS.WriteStream, bytes: string | Uint8Array): Promise<void> {
  try {
    if (target.destroyed || target.errored) throw target.errored;
    if (!target.write(bytes)) await once(target, "drain");
  } catch (cause) {
    throw new OutputClosedError("the program that reads swarm's output has closed the pipe", { cause });
  }
}

async function duringOnTerminal<Result>(
  stderr: NodeJS.WriteStream,
  title: string,
  work: (onStep: (step: string) => void) => Promise<Result>,
): Promise<Result> {
  const { Listr, ListrLogger, ProcessOutput } = await import("listr2");
  const { promise, resolve } = Promise.withResolvers<Result>();
  const tasks = new Listr(
    [
      {
        title,
        task: async (_context, task) => {
          resolve(
            await work((step) => {
              task.output = sanitizeText(step);
            }),
          );
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
  return promise;
}
