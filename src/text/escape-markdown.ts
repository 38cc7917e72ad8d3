import { sanitizeLines, sanitizeText } from "./sanitize-text.ts";

/**
 * Escapes untrusted text for one line of Markdown, so that no part of the text becomes a heading, link, tag
 * or table cell.
 */
export function escapeMarkdown(text: string, limit = 2_000): string {
  return (
    sanitizeText(text, limit)
      .replace(/[\\`*_{}[\]()<>#+!|~&$@]/g, "\\$&")
      // At the start of a line, these characters would begin a list or a rule. An address would become a link.
      .replace(/^(\s*)([-=])/, "$1\\$2")
      .replace(/^(\s*\d+)\.(?=\s|$)/, "$1\\.")
      .replace(/:(?=\/\/)/g, "\\:")
      .replace(/\b(www)\./gi, "$1\\.")
  );
}

/** Formats untrusted text as an inline code span in Markdown. */
export function formatInlineCode(text: string): string {
  const clean = sanitizeText(text, 2_000);
  const fence = "`".repeat(longestRun(clean) + 1);
  const space = /[` ]/.test(clean.slice(0, 1) + clean.slice(-1)) || clean === "" ? " " : "";
  return `${fence}${space}${clean}${space}${fence}`;
}

/** Formats untrusted text as a code block in Markdown. No line of the text can end the block. */
export function formatCodeBlock(text: string, kind = "text"): string[] {
  const clean = sanitizeLines(text.replace(/\r\n?/g, "\n")).replace(/\n+$/, "");
  const fence = "`".repeat(Math.max(3, longestRun(clean) + 1));
  return [`${fence}${kind}`, ...clean.split("\n"), fence];
}

/** Returns the length of the longest sequence of backticks in a text. */
function longestRun(text: string): number {
  return (text.match(/`+/g) ?? []).reduce((longest, run) => Math.max(longest, run.length), 0);
}
