import { textLines } from "../src/wire/text-lines.ts";
import { endGroup, exitOf, startAsAgent, type UserCommand } from "./agent-user.ts";
import type { AgentProgram } from "./agents/agent.ts";
import { shellCode } from "./program-end.ts";

/** A line of an agent's stream; real ones carry whole files. */
const longestLine = 8 << 20;
const keptComplaint = 2_000;
/** So long may others hold the pipe of a program that has ended. */
const lastWordsMs = 200;

/** Starts an agent's program; `onBytes` sees all that it writes on stdout, before anybody reads it. */
export function startProgram(
  command: UserCommand,
  {
    onBytes,
    endAll,
  }: { readonly onBytes: (bytes: Uint8Array) => void; readonly endAll: () => Promise<void> },
): AgentProgram {
  const child = startAsAgent(command);
  const exit = exitOf(child).then(shellCode);
  let complaint = "";
  child.stderr.on("data", (bytes: Buffer) => {
    complaint = (complaint + bytes.toString()).slice(-keptComplaint);
  });
  // What nobody has asked for when a program ends is thrown away; whoever reads its lines may do so later.
  child.stdout.on("readable", () => {});
  // A program need not read what it is given.
  child.stdin.on("error", () => {});
  // Who reads its lines waits for everybody who holds the pipe: for a tool that outlives its agent, too.
  let ending = Promise.resolve();
  child.once("exit", () => {
    if (child.stdout.closed) return;
    const timer = setTimeout(() => {
      ending = endAll();
      ending.catch(() => {});
    }, lastWordsMs);
    child.stdout.once("close", () => clearTimeout(timer));
  });

  async function* seen(): AsyncGenerator<Uint8Array> {
    try {
      for await (const bytes of child.stdout as AsyncIterable<Buffer>) {
        onBytes(bytes);
        yield bytes;
      }
    } catch {
      // A pipe that breaks with its program is its end.
    }
    await ending;
  }

  return {
    lines: textLines(seen(), { longest: longestLine }),
    exit,
    get complaint() {
      return complaint;
    },
    write: (text) =>
      new Promise((resolve) => {
        const { stdin } = child;
        if (stdin.destroyed || stdin.writableEnded) return resolve();
        // Told of its failure as well: one that ends reads no more.
        stdin.write(text, () => resolve());
      }),
    endInput: () => void child.stdin.end(),
    interrupt: () => {
      if (child.exitCode === null && child.signalCode === null) child.kill("SIGINT");
    },
    kill: async () => {
      endGroup(child.pid);
      await endAll();
    },
  };
}
