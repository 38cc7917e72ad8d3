import { createHash } from "node:crypto";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  checksumOfInputs,
  findInputChanges,
  formatInputsLabel,
  type ImageInputs,
  parseInputsLabel,
} from "../../../src/images/rules/image-inputs.ts";

const sha256 = (text: string): string => createHash("sha256").update(text).digest("hex");
const checksum = (inputs: ImageInputs): string => checksumOfInputs(inputs, sha256);
/** Names as manifests have them, and such as every object has anyway. */
const names = fc.oneof(
  fc.string(),
  fc.constantFrom("package.json", "constructor", "toString", "__proto__", "hasOwnProperty", "0", ""),
);
const inputs = fc
  .uniqueArray(fc.tuple(names, fc.string()), { selector: ([name]) => name, maxLength: 12 })
  .map((entries): ImageInputs => Object.fromEntries(entries));

describe("the checksum of an image", () => {
  test("is the same whatever the order of what goes in", () => {
    fc.assert(
      fc.property(inputs, (given) => {
        const reversed = Object.fromEntries(Object.entries(given).reverse());

        expect(checksum(reversed)).toBe(checksum(given));
        expect(checksum(given)).toMatch(/^[0-9a-f]{16}$/);
      }),
    );
  });

  test("is another one when anything is another", () => {
    fc.assert(
      fc.property(inputs, inputs, (one, other) => {
        const isSame = findInputChanges(one, other).length === 0;

        expect(checksum(one) === checksum(other)).toBe(isSame);
      }),
    );
  });

  test.each([
    ["a value that moved to another name", { a: "1", b: "" }, { a: "", b: "1" }],
    ["a name that took a part of its value", { ab: "c" }, { a: "bc" }],
    ["two inputs that look like one", { a: '1","b","2' }, { a: "1", b: "2" }],
    ["an empty input", { a: "" }, {}],
    ["upper case", { a: "x" }, { A: "x" }],
  ])("tells %s apart", (_name, one, other) => {
    expect(checksum(one)).not.toBe(checksum(other));
  });
});

describe("the inputs as a label", () => {
  test("are read back as they were", () => {
    fc.assert(
      fc.property(inputs, (given) => {
        const read = parseInputsLabel(formatInputsLabel(given));

        expect(Object.entries(read ?? {}).sort()).toEqual(Object.entries(given).sort());
        expect(read && findInputChanges(read, given)).toEqual([]);
      }),
    );
  });

  test.each([
    ["nothing", undefined],
    ["an empty label", ""],
    ["no JSON", "{ broken"],
    ["null", "null"],
    ["a number", "7"],
    ["a text", '"abc"'],
    ["a list", "[]"],
    ["a list of texts", '["a", "b"]'],
    ["a value that is no text", '{"a": 1}'],
    ["a value that is an object", '{"a": {"b": "c"}}'],
    ["a value that is nothing", '{"a": null}'],
  ])("%s is no inputs at all", (_name, label) => {
    expect(parseInputsLabel(label)).toBeNull();
  });
});

describe("what makes the difference between two images", () => {
  test("is named, each with how it differs, in the order of the names", () => {
    const before = { dockerfile: "1", lockfile: "2", manifest: "3" };
    const after = { adapter: "4", dockerfile: "1", manifest: "5" };

    expect(findInputChanges(before, after)).toEqual([
      { input: "adapter", kind: "added" },
      { input: "lockfile", kind: "removed" },
      { input: "manifest", kind: "changed" },
    ]);
    expect(findInputChanges(before, before)).toEqual([]);
  });

  test("seen from the other side it is the opposite", () => {
    const opposite = { added: "removed", removed: "added", changed: "changed" } as const;
    fc.assert(
      fc.property(inputs, inputs, (one, other) => {
        expect(findInputChanges(other, one)).toEqual(
          findInputChanges(one, other).map(({ input, kind }) => ({ input, kind: opposite[kind] })),
        );
      }),
    );
  });

  test.each(["constructor", "toString", "__proto__"])("an input called %s is one like any other", (name) => {
    const one: ImageInputs = JSON.parse(`{${JSON.stringify(name)}: "1"}`);

    expect(findInputChanges({}, one)).toEqual([{ input: name, kind: "added" }]);
    expect(findInputChanges(one, {})).toEqual([{ input: name, kind: "removed" }]);
  });
});
