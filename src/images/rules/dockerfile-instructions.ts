/** One instruction of a Dockerfile. Its first and last line are numbered from 0. */
export interface Instruction {
  readonly name: string;
  readonly argument: string;
  readonly firstLine: number;
  readonly lastLine: number;
}

/**
 * Parses a Dockerfile into its instructions, as Docker does, and also returns the escape character that
 * continues lines. A here-document is part of the instruction that starts it.
 */
export function readInstructions(text: string): { instructions: Instruction[]; continuation: "\\" | "`" } {
  const lines = text.split("\n").map((line) => line.replace(/\r$/, ""));
  const continuation = readEscape(lines);
  const instructions: Instruction[] = [];
  let at = 0;
  while (at < lines.length) {
    if (isSkipped(lines[at])) {
      at += 1;
      continue;
    }
    const { joined, next } = joinContinued(lines, at, continuation);
    const [, name = "", argument = ""] = /^\s*(\S+)\s*([\s\S]*)$/.exec(joined) ?? [];
    const after = skipHereDocuments(lines, next, name, argument);
    instructions.push({
      name: name.toUpperCase(),
      argument: argument.trim(),
      firstLine: at,
      lastLine: after - 1,
    });
    at = after;
  }
  return { instructions, continuation };
}

/**
 * Returns the escape character of a Dockerfile, which the parser directive `escape` can set. Docker accepts
 * directives only at the top of the file, before all comments and empty lines.
 */
function readEscape(lines: readonly string[]): "\\" | "`" {
  for (const line of lines) {
    const [, name, value] = /^\uFEFF?\s*#\s*([a-zA-Z][a-zA-Z0-9]*)\s*=\s*(\S+)\s*$/.exec(line) ?? [];
    if (name === undefined || !["syntax", "escape", "check"].includes(name.toLowerCase())) return "\\";
    if (name.toLowerCase() === "escape") return value === "`" ? "`" : "\\";
  }
  return "\\";
}

function isSkipped(line: string | undefined): boolean {
  const trimmed = (line ?? "").replace(/^\uFEFF/, "").trim();
  return trimmed === "" || trimmed.startsWith("#");
}

/** Joins the lines of an instruction that has several lines. Skips comments and empty lines between them. */
function joinContinued(
  lines: readonly string[],
  start: number,
  continuation: string,
): { joined: string; next: number } {
  let joined = "";
  let next = start;
  for (let isContinued = true; isContinued && next < lines.length; next += 1) {
    const line = lines[next] ?? "";
    if (next > start && isSkipped(line)) continue;
    const end = line.trimEnd();
    isContinued = end.endsWith(continuation) && end.at(-2) !== continuation;
    joined += isContinued ? end.slice(0, -1) : line;
  }
  return { joined: joined.replace(/^\uFEFF/, ""), next };
}

/**
 * Returns the number of the first line after all here-documents of an instruction. Ignores a here-document
 * without an end marker.
 */
function skipHereDocuments(lines: readonly string[], start: number, name: string, argument: string): number {
  if (!/^(?:RUN|COPY|ADD|ONBUILD)$/i.test(name)) return start;
  let at = start;
  for (const [, dash, , word] of argument.matchAll(
    /(?:^|\s)\d*<<(-?)(["']?)([A-Za-z_][\w.-]*)\2(?=[\s)|;&>]|$)/g,
  )) {
    const end = lines.findIndex(
      (line, index) => index >= at && (dash ? line.replace(/^\t+/, "") : line) === word,
    );
    if (end >= 0) at = end + 1;
  }
  return at;
}
