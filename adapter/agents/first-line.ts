import { cleanText } from "../../src/domain/clean-text.ts";

/** The first line of a text that is not blank, cleaned for display. */
export function firstLine(text: string): string {
  const line = text.split("\n").find((part) => part.trim() !== "") ?? "";
  return cleanText(line.trim());
}
