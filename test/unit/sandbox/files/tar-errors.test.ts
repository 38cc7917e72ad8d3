import { describe, expect, test } from "vitest";
import {
  createTarErrorParser,
  parseTarErrorLine,
  type TarErrorMessage,
} from "../../../../src/sandbox/files/tar-errors.ts";

function told(...pieces: readonly string[]): TarErrorMessage[] {
  const complaints: TarErrorMessage[] = [];
  const lines = createTarErrorParser((complaint) => complaints.push(complaint));
  for (const piece of pieces) lines.add(Buffer.from(piece));
  lines.end();
  return complaints;
}

describe("what tar in a sandbox says of a file", () => {
  test.for<[line: string, complaint: TarErrorMessage | null]>([
    [
      "tar: ./outputs/a: Cannot open: Permission denied",
      { kind: "missed", path: "outputs/a", reason: "Cannot open: Permission denied" },
    ],
    [
      "tar: ./outputs/log: file changed as we read it",
      { kind: "torn", path: "outputs/log", reason: "file changed as we read it" },
    ],
    [
      "tar: ./outputs/tmp: File removed before we read it",
      { kind: "torn", path: "outputs/tmp", reason: "File removed before we read it" },
    ],
    [
      "tar: ./outputs/x: File shrank by 512 bytes; padding with zeros",
      { kind: "torn", path: "outputs/x", reason: "File shrank by 512 bytes; padding with zeros" },
    ],
    [
      "tar: ./outputs/socket: socket ignored",
      { kind: "barred", path: "outputs/socket", reason: "socket ignored" },
    ],
    [
      "tar: ./outputs/big: it is larger than 8589934592 bytes",
      { kind: "missed", path: "outputs/big", reason: "it is larger than 8589934592 bytes" },
    ],
    ["tar: short read", { kind: "missed", path: ".", reason: "short read" }],
    ["tar: Exiting with failure status due to previous errors", null],
    ["tar: Error is not recoverable: exiting now", null],
    ["", null],
    ["find: something else", null],
  ])("%s", ([line, complaint]) => {
    expect(parseTarErrorLine(line)).toEqual(complaint);
  });

  test("is read line by line, wherever its pieces end", () => {
    const text = "tar: ./a: socket ignored\ntar: ./b: socket ignored\ntar: ./c: socket ignored";

    const cut = Array.from({ length: text.length + 1 }, (_, at) => told(text.slice(0, at), text.slice(at)));

    for (const complaints of cut) expect(complaints.map(({ path }) => path)).toEqual(["a", "b", "c"]);
  });

  test("is cut where a name makes a line long", () => {
    const long = `tar: ./${"x".repeat(100_000)}: Cannot open: Permission denied\n`;

    const [first, second] = told(long.slice(0, 500), long.slice(500), "tar: ./b: socket ignored\n");

    expect(JSON.stringify(first).length).toBeLessThan(700);
    expect(second).toMatchObject({ path: "b" });
  });
});
