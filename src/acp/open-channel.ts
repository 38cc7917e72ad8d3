import { BoundedText } from "../domain/bounded-text.ts";
import { cleanLines } from "../domain/clean-text.ts";
import { type KnownConversation, onNewConnection } from "../domain/message-order.ts";
import type { Containers, Execution } from "../ports/containers.ts";
import { type FindProblem, type Received, receiveMessages } from "./receive-messages.ts";

/** One connection to an adapter. It may break at any time, and the adapter goes on without it. */
export interface Channel extends AsyncDisposable {
  /** What it says beyond what was known, in groups as it comes. Who reads slowly makes it write slowly. Read once. */
  readonly received: AsyncIterable<readonly Received[]>;
  /** Resolves when the engine has taken the line; that the adapter has it, only its answer tells. */
  send(line: Uint8Array): Promise<void>;
  /** Whether there was nothing to join: then what was received was the engine's complaint. To be asked after a first bad line. */
  isUnstarted(): Promise<boolean>;
  /** The beginning and the end of what it wrote for people who look for a fault, fit to be shown. */
  diagnostics(): string;
}

export interface ChannelDeps {
  readonly containers: Pick<Containers, "exec">;
  readonly findProblem: FindProblem;
}

const diagnosticCharacters = 4_000;

/** Joins the adapter in a container: first all that it wrote down after `from`, then what it says from now on. */
export async function openChannel(
  { containers, findProblem }: ChannelDeps,
  {
    containerId,
    from,
    known,
  }: { readonly containerId: string; readonly from: number; readonly known: KnownConversation },
  signal: AbortSignal,
): Promise<Channel> {
  const execution = await containers.exec(
    containerId,
    { command: ["/opt/aimi/adapter", "attach", "--from", String(from)], input: true, user: "0:0" },
    signal,
  );
  const diagnostics = new BoundedText(diagnosticCharacters);
  return {
    received: receiveMessages(protocolOf(execution, diagnostics), onNewConnection(known), findProblem),
    send: (line) => execution.write(line),
    async isUnstarted() {
      // The engine writes its own words to the program's output when it cannot start it, and ends it with one of these; if the
      // container has ended by then, nobody can say with what.
      const exit = await execution.exit();
      return exit.kind === "lost" || exit.code === 126 || exit.code === 127;
    },
    diagnostics: () => cleanLines(diagnostics.finish().text).trim(),
    [Symbol.asyncDispose]: () => execution[Symbol.asyncDispose](),
  };
}

async function* protocolOf(execution: Execution, diagnostics: BoundedText): AsyncGenerator<Uint8Array> {
  for await (const { stream, bytes } of execution.output) {
    if (stream === "stdout") yield bytes;
    else diagnostics.add(bytes);
  }
}
