import { sanitizeText } from "../../src/text/sanitize-text.ts";

/** Returns the first non-blank line of a text, without characters that are unsafe to display. */
export function firstLine(text: string): string {
  const line = text.split("\n").find((part) => part.trim() !== "") ?? "";
  return sanitizeText(line.trim());
}
