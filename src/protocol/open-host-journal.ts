import { createReadStream } from "node:fs";
import { SwarmError } from "../errors/errors.ts";
import { type DurableLines, openDurableLines } from "../wire/durable-lines.ts";
import { maxJournalLineBytes } from "./host-journal.ts";
import { type MessageValidator, receiveMessages } from "./receive-messages.ts";
import { type AdapterConversationState, conversationForJournalReplay } from "./rules/message-order.ts";
import { type JournalledMessage, maxJsonDepthToHost } from "./rules/protocol-messages.ts";

/**
 * The file to which the host writes an adapter's messages during one attempt at a task. Only the swarm's
 * owner writes the file, while other processes may read it.
 */
export interface HostJournal extends AsyncDisposable {
  /** The sequence number of the journal's last message on disk, or 0 if the journal is empty. */
  readonly lastSeq: number;
  /** The state of the conversation after the messages that the journal contained when the host opened it. */
  readonly conversationState: AdapterConversationState;
  /**
   * Appends messages, and resolves when all of them are on disk. The first sequence number must follow the
   * journal's last one, and no number may be missing.
   */
  append(messages: readonly JournalledMessage[]): Promise<void>;
}

/**
 * Opens the host's journal of an attempt, `journal-<attempt>.ndjson`, or creates it. Removes an incomplete
 * last line. If the file is damaged in another way, leaves it unchanged and throws FILE_FAILED.
 */
export async function openHostJournal(
  file: string,
  {
    begin,
    findProblem,
  }: { readonly begin: AdapterConversationState; readonly findProblem: MessageValidator },
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
 * Applies the rules for received messages to the messages in the journal, to restore the conversation's
 * state.
 */
async function replay(
  file: string,
  lines: DurableLines,
  begin: AdapterConversationState,
  findProblem: MessageValidator,
): Promise<AdapterConversationState> {
  const start = conversationForJournalReplay(begin);
  let known = start;
  const limits = { maxLineLength: maxJournalLineBytes, maxDepth: maxJsonDepthToHost };
  for await (const group of receiveMessages(createReadStream(file), start, findProblem, limits)) {
    for (const received of group) {
      if (received.kind === "message") known = received.conversationState;
      else {
        const reason = received.kind === "violation" ? received.reason : "the message is out of sequence";
        fail(file, new Error(`line ${known.lastSeq + 1}: ${reason}`));
      }
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
