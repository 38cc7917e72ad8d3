import { createHash } from "node:crypto";
import { readdirSync, readFileSync, symlinkSync } from "node:fs";
import * as fs from "node:fs/promises";
import { createRequire } from "node:module";
import { join } from "node:path";
import { threadId } from "node:worker_threads";
import { describe, expect, vi } from "vitest";
import writeFileAtomic from "write-file-atomic";
import { SwarmError } from "../../../src/errors/errors.ts";
import {
  type FileOperations,
  removeTemporaryFiles,
  writeFileDurably,
} from "../../../src/machine/durable-write.ts";
import { writeStateDurably } from "../../../src/state/write-state-durably.ts";
import { test } from "../../fakes/folders.ts";
import { write } from "../../fakes/git/repository.ts";

/** The real file operations, of which the nth fails with this code. */
function failingAt(nth: number, code: string): { files: FileOperations; calls: () => number } {
  let calls = 0;
  const step = async <Result>(operation: () => Promise<Result>): Promise<Result> => {
    calls += 1;
    if (calls === nth) throw Object.assign(new Error(`${code}: injected`), { code });
    return operation();
  };
  const files: FileOperations = {
    ...fs,
    open: async (...args) => {
      const handle = await step(() => fs.open(...args));
      const { write: realWrite, sync, close } = handle;
      handle.write = ((...given: Parameters<typeof realWrite>) =>
        step(() => realWrite.apply(handle, given))) as typeof realWrite;
      handle.sync = () => step(() => sync.apply(handle));
      // A close that fails has closed all the same.
      handle.close = async () => {
        await close.apply(handle);
        await step(async () => undefined);
      };
      return handle;
    },
    rename: (from, to) => step(() => fs.rename(from, to)),
  };
  return { files, calls: () => calls };
}

describe("a durable write", () => {
  test("replaces the whole content and leaves nothing beside it", async ({ folder }) => {
    const file = write(folder, "state.json", "old");

    await writeFileDurably(file, "new");

    expect(readFileSync(file, "utf8")).toBe("new");
    expect(readdirSync(folder)).toEqual(["state.json"]);
  });

  for (const code of ["EIO", "ENOSPC", "EDQUOT", "EROFS"]) {
    test(`${code} at any operation: all old or all new, and an error that says which`, async ({ folder }) => {
      const file = write(folder, "state.json", "old");
      const { files: unharmed, calls } = failingAt(-1, code);
      await writeFileDurably(file, "old", { files: unharmed });
      const operations = calls();
      expect(operations).toBeGreaterThanOrEqual(8);

      const holds: string[] = [];
      for (let nth = 1; nth <= operations; nth += 1) {
        await writeFileDurably(file, "old");
        const error = await writeStateDurably(file, "new", { files: failingAt(nth, code).files }).catch(
          (thrown: unknown) => thrown,
        );

        expect(error).toBeInstanceOf(SwarmError);
        const { code: errorCode, message, details } = error as SwarmError<"STATE_WRITE_FAILED">;
        expect(errorCode).toBe("STATE_WRITE_FAILED");
        expect(message).toContain(code);
        expect(readFileSync(file, "utf8")).toBe(details.holds);
        expect(readdirSync(folder)).toEqual(["state.json"]);
        holds.push(details.holds);
      }
      // Only what comes behind the rename, the sync of the folder, can fail with the new content in place.
      expect(holds.join(" ")).toMatch(/^(?:old )+(?:new ?)+$/);
    });
  }

  test("a short write is continued until all is written", async ({ folder }) => {
    const file = join(folder, "state.json");
    const files: FileOperations = {
      ...fs,
      open: async (...args) => {
        const handle = await fs.open(...args);
        const realWrite = handle.write.bind(handle) as (
          bytes: Uint8Array,
          offset: number,
          length: number,
        ) => Promise<{ bytesWritten: number; buffer: Uint8Array }>;
        handle.write = ((bytes: Uint8Array, offset: number) =>
          realWrite(bytes, offset, Math.min(3, bytes.length - offset))) as typeof handle.write;
        return handle;
      },
    };

    await writeFileDurably(file, "0123456789", { files });

    expect(readFileSync(file, "utf8")).toBe("0123456789");
  });

  test("what is thrown right before the rename leaves the old content and comes out unchanged", async ({
    folder,
  }) => {
    const file = write(folder, "state.json", "old");
    const lost = new SwarmError("LOCK_LOST", { file });
    const beforeRename = vi.fn().mockRejectedValue(lost);

    await expect(writeFileDurably(file, "new", { beforeRename })).rejects.toBe(lost);

    expect(readFileSync(file, "utf8")).toBe("old");
    expect(readdirSync(folder)).toEqual(["state.json"]);
  });

  test("what killed writers left behind is removed, and nothing else", async ({ folder }) => {
    const file = write(folder, "state.json", "old");
    for (const name of [
      ".state.json.abc.tmp",
      ".state.json.def.tmp",
      ".other.json.abc.tmp",
      "state.json.tmp",
    ])
      write(folder, name, "x");

    await removeTemporaryFiles(file);

    expect(readdirSync(folder).sort()).toEqual([".other.json.abc.tmp", "state.json", "state.json.tmp"]);
  });

  test("a link planted under a temporary name is not followed; control: write-file-atomic writes through it", async ({
    folder,
  }) => {
    const victim = write(folder, "victim", "precious");
    const file = write(folder, "state.json", "old");
    for (let guess = 1; guess <= 50; guess += 1) symlinkSync(victim, guessedName(file, guess));

    await writeFileDurably(file, "new");
    expect([readFileSync(victim, "utf8"), readFileSync(file, "utf8")]).toEqual(["precious", "new"]);

    await writeFileAtomic(file, "newer");
    expect(readFileSync(victim, "utf8")).toBe("newer");
  });
});

/** How write-file-atomic names its nth temporary file: everything in it can be known from outside. */
function guessedName(file: string, invocation: number): string {
  const module = createRequire(import.meta.url).resolve("write-file-atomic");
  const hash = createHash("sha1")
    .update(module)
    .update(String(process.pid))
    .update(String(threadId))
    .update(String(invocation));
  return `${file}.${hash.digest().readUInt32BE(0)}`;
}
