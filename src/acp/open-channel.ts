import { BoundedText } from "../domain/bounded-text.ts";
import { sanitizeLines } from "../domain/clean-text.ts";
import { type ConversationState, conversationForNewConnection } from "../domain/message-order.ts";
import type { Containers, Execution } from "../ports/containers.ts";
import { type MessageValidator, type ReceivedLine, receiveMessages } from "./receive-messages.ts";

/**
 * One connection to an adapter. The connection may break at any time; the adapter keeps running without it.
 */
export interface AdapterConnection extends AsyncDisposable {
  /**
   * The new messages, grouped as they arrive. Iterate only once. A slow reader causes back-pressure on the
   * adapter.
   */
  readonly received: AsyncIterable<readonly ReceivedLine[]>;
  /**
   * Sends a line. Resolves when the engine has accepted the line; only an answer proves that the adapter
   * received it.
   */
  send(line: Uint8Array): Promise<void>;
  /**
   * Returns whether the program `attach` did not start, or ended with an unknown exit code. The received text
   * may then be the engine's error. Call this function after an invalid first line.
   */
  hasAttachNeverStarted(): Promise<boolean>;
  /** Returns the beginning and the end of the stderr of `attach`, cleaned for display. */
  diagnostics(): string;
}

export interface ConnectToAdapterDeps {
  readonly containers: Pick<Containers, "exec">;
  readonly findProblem: MessageValidator;
}

const diagnosticCharacters = 4_000;

/**
 * Connects to the adapter in a container. The adapter replays its journal after message `from`, then streams
 * its new messages.
 */
export async function connectToAdapter(
  { containers, findProblem }: ConnectToAdapterDeps,
  {
    containerId,
    from,
    known,
  }: { readonly containerId: string; readonly from: number; readonly known: ConversationState },
  signal: AbortSignal,
): Promise<AdapterConnection> {
  const execution = await containers.exec(
    containerId,
    { command: ["/opt/aimi/adapter", "attach", "--from", String(from)], input: true, user: "0:0" },
    signal,
  );
  const diagnostics = new BoundedText(diagnosticCharacters);
  return {
    received: receiveMessages(
      protocolOf(execution, diagnostics),
      conversationForNewConnection(known),
      findProblem,
    ),
    send: (line) => execution.write(line),
    async hasAttachNeverStarted() {
      // An engine that cannot start the program writes its error to the program's stdout and reports exit
      // code 126 or 127. If the container has ended meanwhile, the exit code is lost.
      const exit = await execution.exit();
      return exit.kind === "lost" || exit.code === 126 || exit.code === 127;
    },
    diagnostics: () => sanitizeLines(diagnostics.finish().text).trim(),
    [Symbol.asyncDispose]: () => execution[Symbol.asyncDispose](),
  };
}

async function* protocolOf(execution: Execution, diagnostics: BoundedText): AsyncGenerator<Uint8Array> {
  for await (const { stream, bytes } of execution.output) {
    if (stream === "stdout") yield bytes;
    else diagnostics.add(bytes);
  }
}
