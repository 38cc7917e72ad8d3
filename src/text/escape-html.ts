import { sanitizeLines } from "./sanitize-text.ts";

const named: Readonly<Record<string, string>> = {
  "&": "&amp;",
  "<": "&lt;",
  ">": "&gt;",
  '"': "&quot;",
  "'": "&#39;",
};

/** Escapes text for HTML, both in content and in quoted attribute values. */
export function escapeHtml(text: string): string {
  return sanitizeLines(text).replace(/[&<>"']/g, (found) => named[found] ?? "");
}
