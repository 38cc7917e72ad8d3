import { isUtf8 } from "node:buffer";
import { type Node, type ParseError, parseTree, printParseErrorCode } from "jsonc-parser";
import { SwarmError } from "../errors/errors.ts";
import type { SourceLocation } from "../text/source-location.ts";
import { escapeKey, keysOf } from "./json-pointer.ts";

/** Parsed JSON, with a function that finds the position of each value in the file. */
export interface LocatedJson {
  readonly value: unknown;
  readonly locationOf: (pointer: string) => SourceLocation;
}

const maxDepth = 100;

/**
 * Parses untrusted JSON in UTF-8, with or without a byte order mark. Refuses three things that `JSON.parse`
 * accepts: duplicate keys, the key `__proto__`, and nesting deep enough to exhaust the stack.
 */
export function parseJson(bytes: Uint8Array, file: string): LocatedJson {
  const text = decode(bytes, file);
  const at = (offset: number, pointer?: string): SourceLocation => ({
    file,
    ...positionOf(text, offset),
    ...(pointer && { pointer }),
  });
  const refuse = (offset: number, problem: string, pointer?: string): never => {
    throw new SwarmError("JSON_INVALID", { place: at(offset, pointer), problem });
  };

  if (text.trim() === "") refuse(0, "the file is empty");
  const tooDeep = findTooDeep(text);
  if (tooDeep !== undefined) refuse(tooDeep, `the JSON is nested deeper than ${maxDepth} levels`);

  const errors: ParseError[] = [];
  const tree = parseTree(text, errors, {
    disallowComments: true,
    allowTrailingComma: false,
    allowEmptyContent: false,
  });
  const [error] = errors;
  if (error) refuse(error.offset, describe(error, text));
  if (!tree) return refuse(0, "the file contains no JSON value");
  const forbidden = findForbiddenKey(tree);
  if (forbidden) refuse(forbidden.offset, forbidden.problem, forbidden.pointer);

  return { value: JSON.parse(text), locationOf: (pointer) => at(offsetOf(tree, pointer), pointer) };
}

function decode(bytes: Uint8Array, file: string): string {
  if (!isUtf8(bytes))
    throw new SwarmError("JSON_INVALID", { place: { file }, problem: "the file is not UTF-8 text" });
  // TextDecoder removes a byte order mark, so this code need not.
  return new TextDecoder().decode(bytes);
}

function positionOf(text: string, offset: number): { line: number; column: number } {
  const before = text.slice(0, offset);
  const lineStart = before.lastIndexOf("\n") + 1;
  return { line: before.split("\n").length, column: offset - lineStart + 1 };
}

/**
 * Returns the offset of the first bracket that is nested too deeply, if there is one. This check must run
 * before any recursive code, because deep nesting could exhaust the stack of that code.
 */
function findTooDeep(text: string): number | undefined {
  let depth = 0;
  for (let index = 0; index < text.length; index += 1) {
    const character = text[index];
    if (character === '"') index = endOfString(text, index);
    else if (character === "{" || character === "[") {
      depth += 1;
      if (depth > maxDepth) return index;
    } else if (character === "}" || character === "]") depth -= 1;
  }
  return undefined;
}

function endOfString(text: string, start: number): number {
  let index = start + 1;
  while (index < text.length && text[index] !== '"') index += text[index] === "\\" ? 2 : 1;
  return index;
}

function describe(error: ParseError, text: string): string {
  if (error.offset >= text.trimEnd().length) return "the file ends before its JSON is complete";
  // Turns an error code such as `ValueExpected` into words: `value expected`.
  const words = printParseErrorCode(error.error).replace(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`);
  return `invalid JSON: ${words.trim()}`;
}

function findForbiddenKey(tree: Node): { offset: number; problem: string; pointer: string } | undefined {
  const open: { node: Node; pointer: string }[] = [{ node: tree, pointer: "" }];
  for (let next = open.pop(); next; next = open.pop()) {
    const { node, pointer } = next;
    if (node.type === "array") {
      for (const [index, child] of node.children?.entries() ?? [])
        open.push({ node: child, pointer: `${pointer}/${index}` });
    }
    if (node.type !== "object") continue;
    const seen = new Set<string>();
    for (const property of node.children ?? []) {
      const [key, value] = property.children ?? [];
      const name = String(key?.value);
      const at = `${pointer}/${escapeKey(name)}`;
      if (name === "__proto__")
        return { offset: property.offset, problem: "the key __proto__ is not accepted", pointer: at };
      if (seen.has(name))
        return {
          offset: property.offset,
          problem: `the key ${JSON.stringify(name)} appears a second time`,
          pointer: at,
        };
      seen.add(name);
      if (value) open.push({ node: value, pointer: at });
    }
  }
  return undefined;
}

/**
 * Returns the offset of the value at a JSON pointer. If there is no such value, returns the offset of the
 * nearest enclosing value.
 */
function offsetOf(tree: Node, pointer: string): number {
  let node = tree;
  for (const key of keysOf(pointer)) {
    const child =
      node.type === "array"
        ? node.children?.[Number(key)]
        : node.children?.find(({ children }) => children?.[0]?.value === key)?.children?.[1];
    if (!child) break;
    node = child;
  }
  return node.offset;
}
