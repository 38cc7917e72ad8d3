import { cleanLines, cleanText } from "./clean-text.ts";

/** Somebody's words in a line of Markdown, as they are: nothing in them becomes a heading, link, tag or cell. */
export function inlineText(text: string, limit = 2_000): string {
  return (
    cleanText(text, limit)
      .replace(/[\\`*_{}[\]()<>#+!|~&$@]/g, "\\$&")
      // Where a line begins, these begin a list or a rule; an address would become a link.
      .replace(/^(\s*)([-=])/, "$1\\$2")
      .replace(/^(\s*\d+)\.(?=\s|$)/, "$1\\.")
      .replace(/:(?=\/\/)/g, "\\:")
      .replace(/\b(www)\./gi, "$1\\.")
  );
}

/** Somebody's words as code in a line. */
export function codeSpan(text: string): string {
  const clean = cleanText(text, 2_000);
  const fence = "`".repeat(longestRun(clean) + 1);
  const space = /[` ]/.test(clean.slice(0, 1) + clean.slice(-1)) || clean === "" ? " " : "";
  return `${fence}${space}${clean}${space}${fence}`;
}

/** Somebody's lines as a block that none of them can end. */
export function fenced(text: string, kind = "text"): string[] {
  const clean = cleanLines(text.replace(/\r\n?/g, "\n")).replace(/\n+$/, "");
  const fence = "`".repeat(Math.max(3, longestRun(clean) + 1));
  return [`${fence}${kind}`, ...clean.split("\n"), fence];
}

/** How many backticks stand in a row, at most. */
function longestRun(text: string): number {
  return (text.match(/`+/g) ?? []).reduce((longest, run) => Math.max(longest, run.length), 0);
}
