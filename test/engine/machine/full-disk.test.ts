import { execFileSync } from "node:child_process";
import { mkdirSync, readdirSync, readFileSync, statfsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect } from "vitest";
import writeFileAtomic from "write-file-atomic";
import { writeStateDurably } from "../../../src/state/write-state-durably.ts";
import { test } from "../../fakes/folders.ts";
import { swarmOf } from "../../fakes/state/records.ts";
import { stateAt } from "../../fakes/state/state-at.ts";

/** A filesystem of this size, full but for the last few pages, for as long as the callback runs. */
async function onFullDisk(folder: string, work: (disk: string) => Promise<void>): Promise<void> {
  const disk = join(folder, "disk");
  mkdirSync(disk);
  execFileSync("mount", ["-t", "tmpfs", "-o", "size=256k", "tmpfs", disk]);
  try {
    await work(disk);
  } finally {
    execFileSync("umount", ["--lazy", disk]);
  }
}

function fill(disk: string): void {
  const { bavail, bsize } = statfsSync(disk);
  writeFileSync(join(disk, "ballast"), Buffer.alloc((bavail - 2) * bsize));
}

const large = JSON.stringify({ filler: "x".repeat(64 * 1024) });

describe("a full disk", () => {
  test("keeps the old content and says why", async ({ folder }) => {
    await onFullDisk(folder, async (disk) => {
      const file = join(disk, "state.json");
      await writeStateDurably(file, "old");
      fill(disk);

      await expect(writeStateDurably(file, large)).rejects.toMatchObject({
        code: "STATE_WRITE_FAILED",
        message: expect.stringContaining("ENOSPC"),
        hint: expect.stringContaining("disk space"),
      });
      expect(readFileSync(file, "utf8")).toBe("old");
      expect(readdirSync(disk).sort()).toEqual(["ballast", "state.json"]);
    });
  });

  test("a state that no longer fits is refused, and the one that is there stays readable", async ({
    folder,
  }) => {
    await onFullDisk(folder, async (disk) => {
      const { store } = stateAt(disk);
      await store.create(swarmOf(1));
      fill(disk);

      await expect(
        store.update((state) => ({ ...state, containers: swarmOf(40).containers })),
      ).rejects.toMatchObject({ code: "STATE_WRITE_FAILED" });
      expect((await store.read()).containers).toHaveLength(1);
    });
  });

  test("control: a plain write tears the file", async ({ folder }) => {
    await onFullDisk(folder, async (disk) => {
      const file = join(disk, "state.json");
      writeFileSync(file, "old");
      fill(disk);

      expect(() => writeFileSync(file, large)).toThrow(/ENOSPC/);
      expect(readFileSync(file, "utf8")).not.toBe("old");
    });
  });

  test("control: write-file-atomic reports success and leaves a torn file in the place of the good one", async ({
    folder,
  }) => {
    await onFullDisk(folder, async (disk) => {
      const file = join(disk, "state.json");
      writeFileSync(file, "old");
      fill(disk);

      await writeFileAtomic(file, large);

      const left = readFileSync(file, "utf8");
      expect(left).not.toBe("old");
      expect(left.length).toBeLessThan(large.length);
    });
  });
});
