import { cleanLines } from "./clean-text.ts";

const named: Readonly<Record<string, string>> = {
  ...{ "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&#39;" },
};

/** Text as a page shows it, whatever it is: in content, and in attributes between quotation marks. */
export function htmlText(text: string): string {
  return cleanLines(text).replace(/[&<>"']/g, (found) => named[found] ?? "");
}
