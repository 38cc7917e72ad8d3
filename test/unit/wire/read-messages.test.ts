import { describe, expect, test } from "vitest";
import { readMessages, type WireLine } from "../../../src/wire/read-messages.ts";
import { inPieces } from "../../fakes/protocol/acp-talk.ts";

const limits = { maxLineLength: 64, maxDepth: 4 };

async function read(bytes: Uint8Array | string, pieceBytes = 1_000_000): Promise<WireLine[]> {
  const whole = Buffer.from(bytes);
  const ends = Array.from(
    { length: Math.floor(whole.length / pieceBytes) },
    (_, index) => (index + 1) * pieceBytes,
  );
  return (await Array.fromAsync(readMessages(inPieces(whole, ...ends), limits))).flat();
}

describe("lines that nobody trusts", () => {
  test.each([1, 2, 3, 7, 1000])("arrive whole and in order in pieces of %i bytes", async (pieceBytes) => {
    const lines = await read('{"a":"ü"}\n{"b":[1]}\r\n"c"\n{"torn', pieceBytes);

    expect(lines).toEqual([
      { kind: "value", value: { a: "ü" }, bytes: 11 },
      { kind: "value", value: { b: [1] }, bytes: 11 },
      { kind: "value", value: "c", bytes: 4 },
    ]);
  });

  test.each<readonly [string, string | Uint8Array, string]>([
    ["too long", `"${"x".repeat(62)}"\n`, "longer than 64 bytes"],
    ["too long and without an end", "x".repeat(64), "longer than 64 bytes"],
    ["not UTF-8", Buffer.from([0x22, 0xff, 0x22, 0x0a]), "not UTF-8"],
    ["an overlong form of a character", Buffer.from([0x22, 0xc0, 0xaf, 0x22, 0x0a]), "not UTF-8"],
    ["half of a pair", Buffer.from([0x22, 0xed, 0xa0, 0x80, 0x22, 0x0a]), "not UTF-8"],
    ["empty", "\n", "empty"],
    ["blank", " \t\r\n", "empty"],
    ["no JSON", "{]\n", "not JSON"],
    ["two values", "{} {}\n", "not JSON"],
    ["begun with a mark of the byte order", "\ufeff{}\n", "not JSON"],
    ["nested too deep", "[[[[[]]]]]\n", "nested deeper than 4"],
    ["nested too deep and no JSON", "{[{[{[\n", "nested deeper than 4"],
  ])("that are %s are a violation, and nothing after them is read", async (_what, bad, reason) => {
    const lines = await read(
      Buffer.concat([Buffer.from("{}\n"), Buffer.from(bad), Buffer.from('\n"after"\n')]),
    );

    expect(lines).toEqual([
      { kind: "value", value: {}, bytes: 3 },
      { kind: "violation", reason: expect.stringContaining(reason) },
    ]);
  });

  test("may be as long and as deep as is allowed, and brackets in strings do not count", async () => {
    const longest = `"${"x".repeat(61)}"\n`;

    expect(await read(`${longest}[[[[]]]]\n"[[[[[[ \\" [[[["\n`)).toMatchObject([
      { kind: "value", bytes: 64 },
      { kind: "value" },
      { kind: "value" },
    ]);
  });

  test("deep ones crash whoever walks through what a parser makes of them", async () => {
    const deep = `${"[".repeat(30_000)}${"]".repeat(30_000)}\n`;
    const lines = readMessages(inPieces(Buffer.from(deep)), { maxLineLength: 65_536, maxDepth: 32 });

    expect(() => JSON.stringify(JSON.parse(deep))).toThrow(RangeError);
    expect(await Array.fromAsync(lines)).toMatchObject([[{ kind: "violation" }]]);
  });

  test("come at the pace of whoever reads them", async () => {
    let given = 0;
    async function* source() {
      for (;;) {
        given += 1;
        yield Buffer.from("{}\n".repeat(1000));
      }
    }

    const lines = readMessages(source(), limits);
    expect((await lines.next()).value).toHaveLength(256);
    await lines.next();

    expect(given).toBe(1);
  });
});
