import { createReadStream } from "node:fs";
import { type JournalledMessage, maxDepthToHost, maxLengthToHost } from "../domain/acp-messages.ts";
import { SwarmError } from "../domain/errors.ts";
import { type ConversationState, inJournal } from "../domain/message-order.ts";
import { type DurableLines, openDurableLines } from "../wire/durable-lines.ts";
import { type FindProblem, receiveMessages } from "./receive-messages.ts";

/**
 * The host's copy of an adapter's messages in one attempt. Only the owner writes it; other processes may read
 * the file meanwhile.
 */
export interface HostJournal extends AsyncDisposable {
  /** Sequence number of the last message on disk; 0 for none. */
  readonly lastSeq: number;
  /** State of the conversation when the journal was opened. */
  readonly known: ConversationState;
  /** Resolves once all messages are on disk. Their sequence numbers must continue the journal without a gap. */
  append(messages: readonly JournalledMessage[]): Promise<void>;
}

/** The host writes cleaned messages, serialized anew, so a line may be a little longer than the protocol allows. */
const maxLineLength = 2 * maxLengthToHost;

/**
 * Opens or creates `journal-<attempt>.ndjson` to append to it. Cuts a torn last line. Leaves a file with any
 * other damage as it is and throws FILE_FAILED.
 */
export async function openHostJournal(
  file: string,
  { begin, findProblem }: { readonly begin: ConversationState; readonly findProblem: FindProblem },
): Promise<HostJournal> {
  await using undo = new AsyncDisposableStack();
  const lines = undo.use(await openDurableLines(file).catch((error: unknown) => fail(file, error)));
  const known = await replay(file, lines, begin, findProblem);
  undo.move();

  let next = known.lastSeq + 1;
  return {
    get lastSeq() {
      return lines.count;
    },
    known,
    async append(messages) {
      for (const [index, { seq }] of messages.entries())
        if (seq !== next + index)
          throw new Error(`The journal must continue with ${next + index}, not ${seq}`);
      next += messages.length;
      await lines
        .add(...messages.map((message) => JSON.stringify(message)))
        .catch((error: unknown) => fail(file, error));
    },
    [Symbol.asyncDispose]: () => lines[Symbol.asyncDispose](),
  };
}

/** Applies the rules for received messages, so that the state of the conversation is the same as before. */
async function replay(
  file: string,
  lines: DurableLines,
  begin: ConversationState,
  findProblem: FindProblem,
): Promise<ConversationState> {
  const start = inJournal(begin);
  let known = start;
  const limits = { maxLineLength, maxDepth: maxDepthToHost };
  for await (const group of receiveMessages(createReadStream(file), start, findProblem, limits)) {
    for (const received of group) {
      if (received.kind === "message") known = received.known;
      else
        fail(
          file,
          new Error(
            `line ${known.lastSeq + 1}: ${received.kind === "violation" ? received.reason : "it is out of place"}`,
          ),
        );
    }
  }
  if (known.lastSeq !== lines.count)
    fail(file, new Error(`it has ${lines.count} lines and ends with message ${known.lastSeq}`));
  return { ...known, announced: null };
}

function fail(file: string, error: unknown): never {
  throw new SwarmError("FILE_FAILED", { file, reason: (error as Error).message }, error);
}
