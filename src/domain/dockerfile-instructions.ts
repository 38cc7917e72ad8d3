/** One instruction of a Dockerfile, with the numbers of its first and last line, counted from 0. */
export interface Instruction {
  readonly name: string;
  readonly argument: string;
  readonly firstLine: number;
  readonly lastLine: number;
}

/**
 * Parses a Dockerfile, as Docker does, into instructions and the escape character that continues lines. The body of a
 * here-document belongs to the instruction that begins it.
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
 * Returns the escape character of a Dockerfile, which the directive `escape` can set. Docker accepts
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

/** Joins the lines of a continued instruction, and skips comments and empty lines between these lines. */
function joinContinued(
  lines: readonly string[],
  start: number,
  continuation: string,
): { joined: string; next: number } {
  let joined = "";
  let at = start;
  for (; at < lines.length; at += 1) {
    const line = lines[at] ?? "";
    if (at > start && isSkipped(line)) continue;
    const end = line.trimEnd();
    const isContinued = end.endsWith(continuation) && end.at(-2) !== continuation;
    joined += isContinued ? end.slice(0, -1) : line;
    if (!isContinued) return { joined: joined.replace(/^\uFEFF/, ""), next: at + 1 };
  }
  return { joined: joined.replace(/^\uFEFF/, ""), next: at };
}

/**
 * Returns the number of the line after an instruction's last here-document. Ignores a here-document that has
 * no end marker.
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
