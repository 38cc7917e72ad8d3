import { cleanText } from "../src/domain/clean-text.ts";
import type { AcpMessage } from "../src/domain/generated/acp.ts";
import { readJournal } from "./journal.ts";
import type { Places } from "./places.ts";

/** What happened so far, a line for each message, for people. */
export async function tail(places: Places, print: (line: string) => void): Promise<void> {
  for await (const message of readJournal(places)) {
    const line = describe(message as AcpMessage);
    if (line !== null) print(line);
  }
}

function describe(message: AcpMessage): string | null {
  const time = message.timestamp.slice(11, 19);
  switch (message.type) {
    case "progress-update": {
      const { storyId, status, output, reason } = message.payload;
      return `${time} ${storyId} ${status}: ${reason ? `${reason.code}: ` : ""}${cleanText(output)}`;
    }
    case "activity": {
      const { storyId, kind, summary } = message.payload;
      return `${time} ${storyId} ${kind}: ${cleanText(summary)}`;
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
        ...message.payload.errors.map((error) => cleanText(error, 500)),
      ].join("\n  ");
    case "error":
      return `${time} ${message.payload.code}: ${cleanText(message.payload.message, 2_000)}`;
    default:
      return null;
  }
}
