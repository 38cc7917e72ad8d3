import { expect, test } from "vitest";
import { lineGroups } from "../../../../src/cli/render/line-groups.ts";
import { inPieces } from "../../../fakes/protocol/acp-talk.ts";

async function linesOf(text: string, ...ends: readonly number[]): Promise<string[]> {
  return (await Array.fromAsync(lineGroups(inPieces(Buffer.from(text), ...ends)))).flat();
}

test("lines come whole, wherever the stream is cut", async () => {
  const text = "one\n\nzwei ä€😀\nrest";

  for (let end = 1; end < Buffer.byteLength(text); end += 1)
    expect(await linesOf(text, end)).toEqual(["one", "", "zwei ä€😀", "rest"]);
  expect(await linesOf("")).toEqual([]);
  expect(await linesOf("a\n")).toEqual(["a"]);
});

test("a line that is very long comes in pieces and is not kept", async () => {
  const groups = lineGroups(inPieces(Buffer.alloc(300_000, "x"), 100_000, 200_000));

  expect((await Array.fromAsync(groups)).map((lines) => lines.map(({ length }) => length))).toEqual([
    [100_000],
    [100_000],
    [100_000],
  ]);
});
