import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { BoundedText } from "../../../src/text/bounded-text.ts";

/** Texts of every kind of character, most of them outside of ASCII. */
const texts = fc.string({ unit: "binary", maxLength: 300 });
const cuts = fc.array(fc.integer({ min: 1, max: 7 }), { minLength: 1 });

/** The text in pieces of these lengths, over and over, wherever that cuts a character. */
function boundedOf(text: string, limit: number, lengths: readonly number[]) {
  const bounded = new BoundedText(limit);
  const bytes = Buffer.from(text);
  for (let at = 0, turn = 0; at < bytes.length; turn += 1) {
    const length = lengths[turn % lengths.length] ?? 1;
    bounded.add(bytes.subarray(at, at + length));
    at += length;
  }
  return bounded.finish();
}

describe("a text that is short enough", () => {
  test("comes back as it was, however its characters were cut on the way", () => {
    fc.assert(
      fc.property(texts, cuts, fc.nat({ max: 50 }), (text, lengths, spare) => {
        const { length } = text;

        expect(boundedOf(text, length + spare, lengths)).toEqual({ text, isCut: false, length });
      }),
    );
  });

  test.each([
    ["nothing", ""],
    ["a mark of the byte order at its beginning", "\uFEFFid,name"],
    ["characters of four bytes alone", "🐳🐋"],
    ["a NUL and line ends", "a\0b\r\nc\n"],
  ])("%s", (_name, text) => {
    expect(boundedOf(text, text.length, [1])).toEqual({ text, isCut: false, length: text.length });
  });
});

describe("a text that is too long", () => {
  const mark = /\n… (\d+) characters left out …\n/;

  test("keeps its beginning and its end, and tells how much is missing and how long it was", () => {
    fc.assert(
      fc.property(texts, cuts, fc.nat({ max: 40 }), (text, lengths, limit) => {
        fc.pre(text.length > limit);

        const found = boundedOf(text, limit, lengths);

        expect(found).toMatchObject({ isCut: true, length: text.length });
        // The mark that we added is the last one whose number fits.
        const marks = [...found.text.matchAll(new RegExp(mark, "g"))];
        const fitting = marks.find((candidate) => {
          const head = found.text.slice(0, candidate.index);
          const tail = found.text.slice(candidate.index + candidate[0].length);
          return (
            text.startsWith(head) &&
            text.endsWith(tail) &&
            head.length + Number(candidate[1]) + tail.length === text.length &&
            head.length <= Math.ceil(limit / 2) &&
            tail.length <= Math.floor(limit / 2) &&
            // No more is left out than the two halves of characters at the edges.
            head.length + tail.length >= limit - 2
          );
        });
        expect(fitting, JSON.stringify(found.text)).toBeDefined();
      }),
    );
  });

  test("holds no half of a character", () => {
    fc.assert(
      fc.property(texts, cuts, fc.nat({ max: 40 }), (text, lengths, limit) => {
        expect(boundedOf(text, limit, lengths).text.isWellFormed()).toBe(true);
      }),
    );
    expect(boundedOf("🐳🐳🐳", 2, [3]).text).toBe("\n… 6 characters left out …\n");
  });

  test("with room for nothing, or for one character, keeps no more than that", () => {
    expect(boundedOf("abcdef", 0, [2]).text).toBe("\n… 6 characters left out …\n");
    expect(boundedOf("abcdef", 1, [2]).text).toBe("a\n… 5 characters left out …\n");
  });

  test.each([0, 1, 10, 10_000])("of 50 million characters holds only what is kept: limit %i", (limit) => {
    const bounded = new BoundedText(limit);
    const piece = Buffer.alloc(1_000_000, "x");
    for (let round = 0; round < 50; round += 1) bounded.add(piece);

    const { text, length } = bounded.finish();

    expect(length).toBe(50_000_000);
    expect(text.length).toBeLessThan(limit + 100);
  });
});

describe("bytes that are no text", () => {
  test("become the sign for that, and never an error", () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 300 }), cuts, (bytes, lengths) => {
        const bounded = new BoundedText(1_000);
        for (let at = 0, turn = 0; at < bytes.length; turn += 1) {
          const length = lengths[turn % lengths.length] ?? 1;
          bounded.add(bytes.subarray(at, at + length));
          at += length;
        }

        expect(bounded.finish().text).toBe(
          new TextDecoder("utf-8", { ignoreBOM: true }).decode(Uint8Array.from(bytes)),
        );
      }),
    );
  });

  test("a character that is never finished is the last one", () => {
    const bounded = new BoundedText(10);
    bounded.add(Buffer.from("whale 🐳").subarray(0, 8));

    expect(bounded.finish().text).toBe("whale �");
  });
});
