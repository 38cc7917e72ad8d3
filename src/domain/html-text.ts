import { cleanLines } from "./clean-text.ts";

const named: Readonly<Record<string, string>> = {
  ...{ "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&#39;" },
};

/** Escapes any text for a page: for content, and for attributes in quotation marks. */
export function htmlText(text: string): string {
  return cleanLines(text).replace(/[&<>"']/g, (found) => named[found] ?? "");
}
