import type { AcpMessage } from "../src/contract/acp.ts";
import { maxLineBytesToHost } from "../src/protocol/rules/protocol-messages.ts";
import { sanitizeText } from "../src/text/sanitize-text.ts";
import {
  followJsonLines,
  type JsonLineFollower,
  watchFolderForChanges,
} from "../src/wire/follow-json-lines.ts";
import { journalPath, type SandboxPaths } from "./machine/sandbox-paths.ts";

export interface TailJournalOptions {
  /** The maximum number of existing messages to print, one line each; null prints all of them. */
  readonly last: number | null;
  /**
   * When this signal aborts, the command `tail` stops following the journal. If it is null, the command
   * prints only the existing messages.
   */
  readonly until: AbortSignal | null;
}

const lookEveryMs = 500;

/**
 * Prints the journal in readable form, one line per message. If `until` is set, then prints each new message
 * until the signal aborts.
 */
export async function tailJournal(
  paths: SandboxPaths,
  { last, until }: TailJournalOptions,
  print: (line: string) => void,
): Promise<void> {
  const journal = followJsonLines(journalPath(paths), { maxLineLength: maxLineBytesToHost });
  using changes = until && watchFolderForChanges(paths.aimi, { everyMs: lookEveryMs }, until);
  const newest: string[] = [];
  for await (const line of descriptions(journal)) {
    if (last === null) print(line);
    else newest.push(line);
    if (last !== null && newest.length > last) newest.shift();
  }
  for (const line of newest) print(line);
  while (changes && !until.aborted) {
    await changes.wait();
    for await (const line of descriptions(journal)) print(line);
  }
}

async function* descriptions(journal: JsonLineFollower): AsyncGenerator<string> {
  for await (const message of journal.readNewLines()) {
    const line = describe(message as AcpMessage);
    if (line !== null) yield line;
  }
}

function describe(message: AcpMessage): string | null {
  const time = message.timestamp.slice(11, 19);
  switch (message.type) {
    case "progress-update": {
      const { storyId, status, output, reason } = message.payload;
      return `${time} ${storyId} ${status}: ${reason ? `${reason.code}: ` : ""}${sanitizeText(output)}`;
    }
    case "activity": {
      const { storyId, kind, summary } = message.payload;
      return `${time} ${storyId} ${kind}: ${sanitizeText(summary)}`;
    }
    case "checkpoint":
      return `${time} ${message.payload.storyId} commit ${message.payload.commit.slice(0, 10)}`;
    case "usage": {
      const { storyId, inputTokens, outputTokens, costUsd } = message.payload;
      const cost = costUsd === undefined ? "" : `, $${costUsd.toFixed(2)}`;
      return `${time} ${storyId} ${inputTokens} tokens in, ${outputTokens} out${cost}`;
    }
    case "completion":
      return [
        `${time} ${message.payload.status}`,
        ...message.payload.errors.map((error) => sanitizeText(error, 500)),
      ].join("\n  ");
    case "error":
      return `${time} ${message.payload.code}: ${sanitizeText(message.payload.message, 2_000)}`;
    default:
      return null;
  }
}
