import { createReadStream } from "node:fs";
import { type JournalledMessage, maxJsonDepthToHost, maxLineBytesToHost } from "../domain/acp-messages.ts";
import { SwarmError } from "../domain/errors.ts";
import { type ConversationState, conversationForJournalReplay } from "../domain/message-order.ts";
import { type DurableLines, openDurableLines } from "../wire/durable-lines.ts";
import { type MessageValidator, receiveMessages } from "./receive-messages.ts";

/**
 * The host's copy of an adapter's messages in one attempt. Only the owner writes the file; other processes
 * may read the file at the same time.
 */
export interface HostJournal extends AsyncDisposable {
  /** The sequence number of the last message on disk, or 0 if there is no message. */
  readonly lastSeq: number;
  /** The state of the conversation when the host opened the journal. */
  readonly conversationState: ConversationState;
  /**
   * Appends messages, and resolves when all of them are on disk. Their sequence numbers must continue the
   * journal without a gap.
   */
  append(messages: readonly JournalledMessage[]): Promise<void>;
}

/**
 * Maximum length of a line. The host serializes each cleaned message anew, so a line may be a little longer
 * than the protocol allows.
 */
const maxLineLength = 2 * maxLineBytesToHost;

/**
 * Opens or creates `journal-<attempt>.ndjson` for appending. Cuts off an incomplete last line. At any other
 * damage, leaves the file unchanged and throws FILE_FAILED.
 */
export async function openHostJournal(
  file: string,
  { begin, findProblem }: { readonly begin: ConversationState; readonly findProblem: MessageValidator },
): Promise<HostJournal> {
  await using undo = new AsyncDisposableStack();
  const lines = undo.use(await openDurableLines(file).catch((error: unknown) => fail(file, error)));
  const conversationState = await replay(file, lines, begin, findProblem);
  undo.move();

  let next = conversationState.lastSeq + 1;
  return {
    get lastSeq() {
      return lines.count;
    },
    conversationState,
    async append(messages) {
      for (const [index, { seq }] of messages.entries())
        if (seq !== next + index)
          throw new Error(`The journal's next message must have the number ${next + index}, not ${seq}`);
      next += messages.length;
      await lines
        .add(...messages.map((message) => JSON.stringify(message)))
        .catch((error: unknown) => fail(file, error));
    },
    [Symbol.asyncDispose]: () => lines[Symbol.asyncDispose](),
  };
}

/**
 * Replays the journal with the rules for received messages, so that the conversation's state is the same as
 * when the messages arrived.
 */
async function replay(
  file: string,
  lines: DurableLines,
  begin: ConversationState,
  findProblem: MessageValidator,
): Promise<ConversationState> {
  const start = conversationForJournalReplay(begin);
  let known = start;
  const limits = { maxLineLength, maxDepth: maxJsonDepthToHost };
  for await (const group of receiveMessages(createReadStream(file), start, findProblem, limits)) {
    for (const received of group) {
      if (received.kind === "message") known = received.conversationState;
      else
        fail(
          file,
          new Error(
            `line ${known.lastSeq + 1}: ${received.kind === "violation" ? received.reason : "the message is out of sequence"}`,
          ),
        );
    }
  }
  if (known.lastSeq !== lines.count)
    fail(
      file,
      new Error(`the journal has ${lines.count} lines, but its last message has the number ${known.lastSeq}`),
    );
  return { ...known, helloContent: null };
}

function fail(file: string, error: unknown): never {
  throw new SwarmError("FILE_FAILED", { file, reason: (error as Error).message }, error);
}
