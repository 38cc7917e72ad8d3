import { describe, expect, test } from "vitest";
import { jsonLines, textLines } from "../../../src/wire/text-lines.ts";
import { inPieces } from "../../fakes/protocol/acp-talk.ts";

async function linesOf(
  text: string | Buffer,
  maxLength: number,
  ...ends: readonly number[]
): Promise<string[]> {
  return Array.fromAsync(textLines(inPieces(Buffer.from(text as string), ...ends), { maxLength }));
}

describe("lines of a stream", () => {
  const text = "eins\r\nzwei ä€😀\n\nfour";

  test("are the same wherever the stream is cut", async () => {
    const whole = ["eins", "zwei ä€😀", "", "four"];

    for (let end = 0; end <= Buffer.byteLength(text); end += 1)
      expect(await linesOf(text, 100, end, end + 1, end + 3)).toEqual(whole);
  });

  test("are left out alone when they are too long", async () => {
    expect(await linesOf(`ok\n${"x".repeat(11)}\n${"y".repeat(10)}\nend`, 10, 5, 6, 9)).toEqual([
      "ok",
      "y".repeat(10),
      "end",
    ]);
    expect(await linesOf("x".repeat(50), 10, 20)).toEqual([]);
  });

  test("without an end take no memory", async () => {
    const piece = Buffer.alloc(1 << 20, "x");
    async function* endless() {
      for (let count = 0; count < 300; count += 1) yield piece;
      yield Buffer.from("\nlast");
    }

    expect(await Array.fromAsync(textLines(endless(), { maxLength: 1 << 16 }))).toEqual(["last"]);
  });

  test("keep nothing of a piece that ended in their midst", async () => {
    const piece = Buffer.alloc(1);
    async function* byByte() {
      for (const byte of Buffer.from("one\ntwo")) {
        // A source may use its memory again; whoever still looks at it would hold all of it.
        piece[0] = byte;
        yield piece;
      }
    }

    expect(await Array.fromAsync(textLines(byByte(), { maxLength: 10 }))).toEqual(["one", "two"]);
  });

  test("as JSON leave out what is none", async () => {
    const torn = `{"a":1}\n{"a":\n\nnull\n[1]\n{"a":2`;

    expect(await Array.fromAsync(jsonLines(inPieces(Buffer.from(torn), 9), { maxLength: 100 }))).toEqual([
      { a: 1 },
      null,
      [1],
    ]);
  });
});
