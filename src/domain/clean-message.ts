import { cleanLines, cleanText } from "./clean-text.ts";
import type { AcpMessage } from "./generated/acp.ts";

/** Fields that hold text of several lines. All others are one line. */
const manyLines: ReadonlySet<string> = new Set(["output", "message"]);

/** A message of known form whose texts may be shown: what a person could take for something else, or a terminal obey, is out. */
export function cleanMessage<Message extends AcpMessage>(message: Message): Message {
  return cleanValue(message, "") as Message;
}

function cleanValue(value: unknown, field: string): unknown {
  if (typeof value === "string") return cleanString(value, manyLines.has(field));
  if (Array.isArray(value)) return value.map((item) => cleanValue(item, field));
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([name, part]) => [name, cleanValue(part, name)]));
}

function cleanString(text: string, hasLines: boolean): string {
  // Nearly every text is plain, and this look is far cheaper than taking it apart.
  if (!/[\p{Cc}\p{Cs}\u200e\u200f\u202a-\u202e\u2066-\u2069\ufeff]/u.test(text)) return text;
  return hasLines ? cleanLines(text) : cleanText(text, Number.POSITIVE_INFINITY);
}
