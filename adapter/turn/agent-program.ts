import { textLines } from "../../src/wire/text-lines.ts";
import type { AgentProgram } from "../agents/agent.ts";
import {
  type AgentUserCommand,
  killProcessGroup,
  startProgramAsAgentUser,
  waitForProgramEnd,
} from "../machine/agent-user.ts";
import { shellExitCode } from "../machine/program-end.ts";

/**
 * The maximum length of one line of an agent's output, in bytes. The limit is high because agents may write a
 * whole file as one line.
 */
const maxLineLength = 8 << 20;
const maxStderrTail = 2_000;
/**
 * The maximum time, in milliseconds, to wait for the output pipe to close after the agent's program has
 * exited. Other processes that the program started may hold the pipe open.
 */
const pipeGraceMs = 200;

/**
 * Starts an agent's program. `onBytes` gets each chunk of the program's stdout before `lines` yields the
 * lines in that chunk.
 */
export function startAgentProgram(
  command: AgentUserCommand,
  {
    onBytes,
    killAll,
  }: { readonly onBytes: (bytes: Uint8Array) => void; readonly killAll: () => Promise<void> },
): AgentProgram {
  const child = startProgramAsAgentUser(command);
  const exit = waitForProgramEnd(child).then(shellExitCode);
  let stderrTail = "";
  child.stderr.on("data", (bytes: Buffer) => {
    stderrTail = (stderrTail + bytes.toString()).slice(-maxStderrTail);
  });
  // Without a `readable` listener, Node discards a program's unread output when the program ends, but the caller may read
  // `lines` later.
  child.stdout.on("readable", () => {});
  // Ignores write errors: a program may end before it has read its input.
  child.stdin.on("error", () => {});
  // The reader of `lines` waits until every process has closed the output pipe, so kill the tools that outlive the agent.
  let ending = Promise.resolve();
  child.once("exit", () => {
    if (child.stdout.closed) return;
    const timer = setTimeout(() => {
      ending = killAll();
      ending.catch(() => {});
    }, pipeGraceMs);
    child.stdout.once("close", () => clearTimeout(timer));
  });

  async function* observed(): AsyncGenerator<Uint8Array> {
    try {
      for await (const bytes of child.stdout as AsyncIterable<Buffer>) {
        onBytes(bytes);
        yield bytes;
      }
    } catch {
      // A broken pipe only means that the program has ended.
    }
    await ending;
  }

  return {
    lines: textLines(observed(), { maxLength: maxLineLength }),
    exit,
    get stderrTail() {
      return stderrTail;
    },
    write: (text) =>
      new Promise((resolve) => {
        const { stdin } = child;
        if (stdin.destroyed || stdin.writableEnded) return resolve();
        // Ignores a failed write, after which Node calls back, too: a program that is ending reads no more.
        stdin.write(text, () => resolve());
      }),
    endInput: () => void child.stdin.end(),
    interrupt: () => {
      if (child.exitCode === null && child.signalCode === null) child.kill("SIGINT");
    },
    kill: async () => {
      killProcessGroup(child);
      await killAll();
    },
  };
}
