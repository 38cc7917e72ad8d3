import { execFileSync } from "node:child_process";
import { join } from "node:path";
import { expect } from "vitest";
import { streamGit } from "../../../src/git/run-git.ts";
import { splitStream } from "../../../src/wire/split-stream.ts";
import { test } from "../../fakes/folders.ts";

/** A git that reads what nothing writes. */
function endless(folder: string): readonly string[] {
  const pipe = join(folder, "pipe");
  execFileSync("mkfifo", [pipe]);
  return ["hash-object", pipe];
}

async function all<T>(items: AsyncIterable<T>): Promise<T[]> {
  const found: T[] = [];
  for await (const item of items) found.push(item);
  return found;
}

async function* pieces(text: string, size: number): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < text.length; at += size) yield Buffer.from(text.slice(at, at + size));
}

test("a git that takes longer than it may is a failure that says so", async ({ folder }) => {
  await expect(all(streamGit(endless(folder), { folder, limitMs: 50 }))).rejects.toMatchObject({
    code: "GIT_FAILED",
    details: { command: "hash-object", reason: "git took longer than 50 ms" },
  });
});

test("a git that takes longer than it may is an answer to whoever asks for that", async ({ folder }) => {
  let late = 0;
  const onLate = (): void => {
    late += 1;
  };

  expect(await all(streamGit(endless(folder), { folder, limitMs: 50, onLate }))).toEqual([]);
  expect(late).toBe(1);
});

test("texts of a stream are the same however it is cut, and never longer than they may be", async () => {
  const text = `one\n\n${"x".repeat(50)}\nlast\nnot ended`;
  for (const size of [1, 2, 3, 7, 100])
    expect(await all(splitStream(pieces(text, size), { end: 10, maxLength: 5 }))).toEqual([
      ...["one", "", "xxxxx", "last"],
    ]);
});
