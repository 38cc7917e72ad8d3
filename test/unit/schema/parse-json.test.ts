import { describe, expect, test } from "vitest";
import { SwarmError } from "../../../src/errors/errors.ts";
import { parseJson } from "../../../src/schema/parse-json.ts";

function problemIn(text: string | Uint8Array): {
  problem: string;
  line: number | undefined;
  column: number | undefined;
  pointer: string | undefined;
} {
  try {
    parseJson(typeof text === "string" ? Buffer.from(text) : text, "x.json");
  } catch (error) {
    if (!(error instanceof SwarmError) || error.code !== "JSON_INVALID") throw error;
    const { problem, place } = (error as SwarmError<"JSON_INVALID">).details;
    return { problem, line: place.line, column: place.column, pointer: place.pointer };
  }
  throw new Error("it was accepted");
}

describe("JSON from outside", () => {
  test.each([
    ["nothing", "", "the file is empty", 1, 1],
    ["only white space", " \n\n", "the file is empty", 1, 1],
    ["a cut file", '{"a": [1, 2', "the file ends before its JSON is complete", 1, 12],
    ["a cut string", '{"a": "b', "invalid JSON: unexpected end of string", 1, 7],
    ["a missing comma", '{\n  "a": 1\n  "b": 2\n}', "invalid JSON: comma expected", 3, 3],
    ["a trailing comma", '{"a": 1,}', "invalid JSON: property name expected", 1, 9],
    ["a comment", '{"a": 1 // one\n}', "invalid JSON: invalid comment token", 1, 9],
    ["single quotes", "{'a': 1}", "invalid JSON: invalid symbol", 1, 2],
    ["two values", "{} {}", "invalid JSON: end of file expected", 1, 4],
    ["a key that stands twice", '{"a": 1, "a": 2}', 'the key "a" appears a second time', 1, 10],
    [
      "a key that stands twice deep down",
      '{"a": [{"b": 1,\n "b": 2}]}',
      'the key "b" appears a second time',
      2,
      2,
    ],
    ["__proto__", '{"a": {"__proto__": {"x": 1}}}', "the key __proto__ is not accepted", 1, 8],
    ["an escaped __proto__", '{"\\u005f_proto__": 1}', "the key __proto__ is not accepted", 1, 2],
    [
      "ten thousand brackets",
      "[".repeat(10_000) + "]".repeat(10_000),
      "the JSON is nested deeper than 100 levels",
      1,
      101,
    ],
    ["ten thousand objects", '{"a":'.repeat(10_000), "the JSON is nested deeper than 100 levels", 1, 501],
  ])("%s is one clear error at its place", (_name, text, problem, line, column) => {
    expect(problemIn(text)).toMatchObject({ problem, line, column });
  });

  test("bytes that are no UTF-8 are refused", () => {
    expect(problemIn(Uint8Array.of(0x7b, 0xff, 0x7d)).problem).toBe("the file is not UTF-8 text");
  });

  test("a pointer leads to the duplicate", () => {
    expect(problemIn('{"a/b": {"c~d": [0, {"e": 1, "e": 2}]}}').pointer).toBe("/a~1b/c~0d/1/e");
  });

  test("a byte order mark and CRLF are fine", () => {
    const { value, locationOf } = parseJson(
      Buffer.from('\ufeff{\r\n  "a": [\r\n    1\r\n  ]\r\n}\r\n'),
      "x.json",
    );

    expect(value).toEqual({ a: [1] });
    expect(locationOf("/a/0")).toEqual({ file: "x.json", line: 3, column: 5, pointer: "/a/0" });
  });

  test("brackets inside strings are no nesting", () => {
    expect(parseJson(Buffer.from(JSON.stringify({ a: '\\"[{'.repeat(500) })), "x.json").value).toEqual({
      a: '\\"[{'.repeat(500),
    });
  });

  test("the place of something absent is the nearest thing around it", () => {
    const { locationOf } = parseJson(Buffer.from('{\n  "a": {}\n}'), "x.json");

    expect(locationOf("/a/missing/deeper")).toMatchObject({ line: 2, column: 8 });
  });
});
