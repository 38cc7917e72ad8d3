import { isUtf8 } from "node:buffer";
import { type CST, isMap, isScalar, isSeq, LineCounter, type Node, Parser, parseDocument } from "yaml";
import { SwarmError } from "../errors/errors.ts";
import { sanitizeText } from "../text/sanitize-text.ts";
import type { SourceLocation } from "../text/source-location.ts";
import { escapeKey, keysOf } from "./json-pointer.ts";

/** Parsed YAML, with functions that find the position and the source text of each value. */
export interface LocatedYaml {
  readonly value: unknown;
  /**
   * Returns the position of the name of a field or of an item of a list. If there is no such field or item,
   * returns the position of the nearest enclosing value.
   */
  readonly locationOf: (pointer: string) => SourceLocation;
  /** Returns the source text of an unquoted value, for example `1.10`, which is parsed as the number 1.1. */
  readonly textOf: (pointer: string) => string | undefined;
}

const largestBytes = 64 * 1024;
const maxDepth = 20;

interface Refusal {
  readonly offset: number;
  readonly problem: string;
  readonly hint: string;
  readonly pointer?: string;
}

/**
 * Parses an untrusted YAML 1.2 document, which may contain only plain data. Refuses:
 * - anchors, aliases, merge keys, tags and directives
 * - what other parsers accept silently: duplicate keys, `__proto__`, keys that are not text, and a second
 *   document
 */
export function parseYaml(bytes: Uint8Array, file: string): LocatedYaml {
  const text = decode(bytes, file);
  const lines = new LineCounter();
  const at = (offset: number, pointer?: string): SourceLocation => {
    const { line, col } = lines.linePos(offset);
    return { file, line, column: col, ...(pointer && { pointer }) };
  };
  const refuse = ({ offset, pointer, problem, hint }: Refusal): never => {
    throw new SwarmError("SANDBOX_SPEC_INVALID", { place: at(offset, pointer), problem, hint });
  };

  // The parser itself does not recurse, but building a document from its tokens does. So the depth is checked
  // between the two.
  const tokens = [...new Parser(lines.addNewLine).parse(text)];
  const early = findForbiddenCharacter(text) ?? findForbiddenToken(tokens);
  if (early) refuse(early);

  const document = parseDocument(text, {
    version: "1.2",
    schema: "core",
    strict: true,
    merge: false,
    resolveKnownTags: false,
    prettyErrors: false,
    // The library compares every pair of keys, which takes quadratic time. `findForbiddenKey` does the same
    // check in linear time.
    uniqueKeys: false,
  });
  const [error] = document.errors;
  if (error)
    refuse({
      offset: error.pos[0],
      problem: `invalid YAML: ${sanitizeText(error.message, 200)}`,
      hint: "Correct the YAML at this place.",
    });
  const { contents } = document;
  if (contents === null || (isScalar(contents) && contents.value === null))
    return refuse({
      offset: 0,
      problem: "the file is empty",
      hint: "Write {} for a sandbox with default values only.",
    });
  const forbidden = findForbiddenKey(contents);
  if (forbidden) refuse(forbidden);

  return {
    value: document.toJS({ maxAliasCount: 0 }),
    locationOf: (pointer) => at(nodeAt(contents, pointer).offset, pointer),
    textOf: (pointer) => {
      const { node, isExact } = nodeAt(contents, pointer);
      return isExact && isScalar(node) && typeof node.value !== "string" ? node.source : undefined;
    },
  };
}

function decode(bytes: Uint8Array, file: string): string {
  const refuse = (problem: string, hint: string): never => {
    throw new SwarmError("SANDBOX_SPEC_INVALID", { place: { file }, problem, hint });
  };
  if (bytes.length > largestBytes)
    return refuse(
      "the file is larger than 64 KiB",
      "Put large values into files, and name these files in the field inputs.",
    );
  if (!isUtf8(bytes)) return refuse("the file is not UTF-8 text", "Save the file as UTF-8.");
  // TextDecoder removes a byte order mark, so this code need not.
  return new TextDecoder().decode(bytes);
}

/**
 * Finds the first character that YAML forbids or that makes the text look different on a screen, such as a
 * control character that reverses the direction of text.
 */
function findForbiddenCharacter(text: string): Refusal | undefined {
  const offset = text.search(
    /[^\t\n\r\x20-\x7e\x85\u{a0}-\u{d7ff}\u{e000}-\u{fffd}\u{10000}-\u{10ffff}]|\r(?!\n)|[\u202a-\u202e\u2066-\u2069\ufeff]/u,
  );
  if (offset < 0) return undefined;
  const code = (text.codePointAt(offset) ?? 0).toString(16).toUpperCase().padStart(4, "0");
  return {
    offset,
    problem: `the character U+${code} is not accepted`,
    hint: "Remove the character, or write the character as an escape sequence in double quotes.",
  };
}

/** Finds the first token that is not plain data, such as an anchor or a tag, or that is nested too deeply. */
function findForbiddenToken(tokens: readonly CST.Token[]): Refusal | undefined {
  const [, second] = tokens.filter(({ type }) => type === "document");
  let first: Refusal | undefined = second && {
    offset: second.offset,
    problem: "the file contains a second YAML document",
    hint: "Keep only one YAML document in the file.",
  };
  const open = tokens.map((token) => ({ token, depth: 0 }));
  for (let next = open.pop(); next; next = open.pop()) {
    const { token, depth } = next;
    const refusal = findRefusal(token, depth);
    if (refusal && (!first || token.offset < first.offset)) first = { offset: token.offset, ...refusal };
    if (depth > maxDepth) continue;
    const inside = "items" in token ? depth + 1 : depth;
    for (const part of partsOf(token)) open.push({ token: part, depth: inside });
  }
  return first;
}

function findRefusal(token: CST.Token, depth: number): Pick<Refusal, "problem" | "hint"> | undefined {
  if ("items" in token && depth >= maxDepth)
    return {
      problem: `the YAML is nested deeper than ${maxDepth} levels`,
      hint: "Reduce the nesting: no field of a spec needs so many levels.",
    };
  switch (token.type) {
    case "anchor":
    case "alias":
      return {
        problem: `${JSON.stringify(sanitizeText(token.source, 40))} is ${token.type === "alias" ? "an alias" : "an anchor"}; aliases and anchors are not accepted`,
        hint: "Write the value itself; text that begins with & or * needs quotes.",
      };
    case "tag":
      return {
        problem: `${JSON.stringify(sanitizeText(token.source, 40))} is a tag; tags are not accepted`,
        hint: "Remove the tag; text that begins with ! needs quotes.",
      };
    case "directive":
      return {
        problem: "YAML directives are not accepted",
        hint: "Remove the line that begins with %.",
      };
    default:
      return undefined;
  }
}

function partsOf(token: CST.Token): CST.Token[] {
  switch (token.type) {
    case "document":
      return [...token.start, ...(token.value ? [token.value] : [])];
    case "block-map":
    case "block-seq":
    case "flow-collection":
      return token.items.flatMap(({ start, key, sep = [], value }) => [
        ...start,
        ...(key ? [key] : []),
        ...sep,
        ...(value ? [value] : []),
      ]);
    case "block-scalar":
      return token.props;
    default:
      return [];
  }
}

function findForbiddenKey(contents: Node): Refusal | undefined {
  const open: { node: unknown; pointer: string }[] = [{ node: contents, pointer: "" }];
  for (let next = open.shift(); next; next = open.shift()) {
    const { node, pointer } = next;
    if (isSeq(node))
      open.push(...node.items.map((item, index) => ({ node: item, pointer: `${pointer}/${index}` })));
    if (!isMap(node)) continue;
    const seen = new Set<string>();
    for (const { key, value } of node.items) {
      const name = isScalar(key) ? key.value : undefined;
      const offset = offsetOf(key) ?? offsetOf(node) ?? 0;
      if (typeof name !== "string")
        return {
          offset,
          problem: "a key must be text",
          hint: "Put the key in quotes.",
          ...(pointer && { pointer }),
        };
      const at = `${pointer}/${escapeKey(name)}`;
      const refusal = findKeyRefusal(name, seen);
      if (refusal) return { offset, pointer: at, ...refusal };
      seen.add(name);
      open.push({ node: value, pointer: at });
    }
  }
  return undefined;
}

function findKeyRefusal(
  name: string,
  seen: ReadonlySet<string>,
): Pick<Refusal, "problem" | "hint"> | undefined {
  if (name === "<<")
    return { problem: "YAML merge keys are not accepted", hint: "Write the fields themselves." };
  if (name === "__proto__") return { problem: "the key __proto__ is not accepted", hint: "Remove this key." };
  if (seen.has(name))
    return {
      problem: `the key ${JSON.stringify(sanitizeText(name, 80))} appears a second time`,
      hint: "Keep only one of the two keys.",
    };
  return undefined;
}

/**
 * Finds the value at a JSON pointer, and its position for error messages. If there is no such value, returns
 * the nearest enclosing value and sets `isExact` to false.
 */
function nodeAt(contents: Node, pointer: string): { node: unknown; offset: number; isExact: boolean } {
  let node: unknown = contents;
  let offset = offsetOf(contents) ?? 0;
  for (const name of keysOf(pointer)) {
    const pair = isMap(node) ? node.items.find(({ key }) => isScalar(key) && key.value === name) : undefined;
    const child: unknown = isSeq(node) ? node.items[Number(name)] : pair?.value;
    if (!pair && child === undefined) return { node, offset, isExact: false };
    offset = offsetOf(pair?.key) ?? offsetOf(child) ?? offset;
    node = child;
  }
  return { node, offset, isExact: true };
}

function offsetOf(node: unknown): number | undefined {
  return isScalar(node) || isMap(node) || isSeq(node) ? node.range?.[0] : undefined;
}
