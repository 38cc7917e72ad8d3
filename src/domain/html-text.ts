import { sanitizeLines } from "./clean-text.ts";

const named: Readonly<Record<string, string>> = {
  ...{ "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&#39;" },
};

/** Escapes text for HTML, both for content and for attribute values in quotation marks. */
export function escapeHtml(text: string): string {
  return sanitizeLines(text).replace(/[&<>"']/g, (found) => named[found] ?? "");
}
