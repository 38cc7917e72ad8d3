/** One instruction of a Dockerfile with the lines that it takes, counted from 0. */
export interface Instruction {
  readonly name: string;
  readonly argument: string;
  readonly firstLine: number;
  readonly lastLine: number;
}

/** Reads instructions and the escape character as Docker does; the body of a here-document belongs to its instruction. */
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

/** The escape character. Directives come before everything else, comments and empty lines included. */
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

/** Comments and empty lines inside a continued instruction do not end it. */
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

/** The line after the last here-document; without its end mark it is no here-document. */
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
