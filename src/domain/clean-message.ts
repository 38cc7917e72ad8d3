import { cleanLines, cleanText, isPlain } from "./clean-text.ts";
import type { AcpMessage } from "./generated/acp.ts";

/** Fields with text of several lines. All others hold one line. */
const manyLines: ReadonlySet<string> = new Set(["output", "message"]);

/** A message of known form whose texts are safe to show: without deceptive characters and terminal control sequences. */
export function cleanMessage<Message extends AcpMessage>(message: Message): Message {
  return cleanValue(message, "") as Message;
}

/** Returns the same value if nothing has to be cleaned, as in nearly every message. */
function cleanValue(value: unknown, field: string): unknown {
  if (typeof value === "string") return cleanString(value, manyLines.has(field));
  if (typeof value !== "object" || value === null) return value;
  if (Array.isArray(value)) {
    const cleaned = value.map((item) => cleanValue(item, field));
    return cleaned.every((item, at) => item === value[at]) ? value : cleaned;
  }
  let changed: Record<string, unknown> | null = null;
  for (const [name, part] of Object.entries(value)) {
    const cleaned = cleanValue(part, name);
    if (cleaned === part) continue;
    changed ??= { ...value };
    changed[name] = cleaned;
  }
  return changed ?? value;
}

function cleanString(text: string, hasLines: boolean): string {
  // The fast path, which nearly every text takes.
  if (isPlain(text)) return text;
  return hasLines ? cleanLines(text) : cleanText(text, Number.POSITIVE_INFINITY);
}
