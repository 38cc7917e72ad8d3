import type { AcpMessage } from "../../contract/acp.ts";
import { hasNoHiddenCharacters, sanitizeLines, sanitizeText } from "../../text/sanitize-text.ts";

/**
 * The names of the message fields whose text may have several lines. swarm joins the text of every other
 * field into one line.
 */
const manyLines: ReadonlySet<string> = new Set(["output", "message"]);

/**
 * Makes the texts of a message safe to show: removes terminal control sequences, and characters that hide or
 * reorder text.
 */
export function sanitizeMessage<Message extends AcpMessage>(message: Message): Message {
  return cleanValue(message, "") as Message;
}

/**
 * Makes all texts in a value safe to show. Returns the given object itself if nothing changes, which is the
 * usual case.
 */
function cleanValue(value: unknown, field: string): unknown {
  if (typeof value === "string") {
    // The fast path for nearly all texts.
    if (hasNoHiddenCharacters(value)) return value;
    return manyLines.has(field) ? sanitizeLines(value) : sanitizeText(value, Number.POSITIVE_INFINITY);
  }
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
