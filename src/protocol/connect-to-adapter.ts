import type { ContainerExecution, Containers } from "../engine/containers.ts";
import { BoundedText } from "../text/bounded-text.ts";
import { sanitizeLines } from "../text/sanitize-text.ts";
import { type MessageValidator, type ReceivedLine, receiveMessages } from "./receive-messages.ts";
import { type AdapterConversationState, conversationForNewConnection } from "./rules/message-order.ts";

/** One connection from the host to an adapter. If the connection breaks, the adapter keeps running. */
export interface AdapterConnection extends AsyncDisposable {
  /**
   * The new messages from the adapter, grouped as they arrive. The caller may iterate only once; if the
   * caller is slow, the adapter must wait (back-pressure).
   */
  readonly received: AsyncIterable<readonly ReceivedLine[]>;
  /**
   * Sends a message line to the adapter. Resolves when the container engine has accepted the line, which does
   * not prove that the adapter received it.
   */
  send(line: Uint8Array): Promise<void>;
  /**
   * Returns whether the program `attach` in the container did not start, or ended with an unknown exit code.
   * Call this function after an invalid first line, which may then be an error text of the container engine.
   */
  hasAttachNeverStarted(): Promise<boolean>;
  /** Returns the beginning and the end of what `attach` wrote to stderr, made safe for display. */
  diagnostics(): string;
}

export interface ConnectToAdapterDeps {
  readonly containers: Pick<Containers, "exec">;
  readonly findProblem: MessageValidator;
}

const diagnosticCharacters = 4_000;

/**
 * Connects to the adapter in a container. The adapter first sends the messages in its journal after number
 * `from`, and then each new message.
 */
export async function connectToAdapter(
  { containers, findProblem }: ConnectToAdapterDeps,
  {
    containerId,
    from,
    known,
  }: { readonly containerId: string; readonly from: number; readonly known: AdapterConversationState },
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

async function* protocolOf(
  execution: ContainerExecution,
  diagnostics: BoundedText,
): AsyncGenerator<Uint8Array> {
  for await (const { stream, bytes } of execution.output) {
    if (stream === "stdout") yield bytes;
    else diagnostics.add(bytes);
  }
}
