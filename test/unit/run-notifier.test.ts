import { mkdirSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { expect } from "vitest";
import type { Notice } from "../../src/domain/generated/notice.ts";
import { mergeFile } from "../../src/host/merge-file.ts";
import { runNotifier } from "../../src/host/run-notifier.ts";
import { test } from "../fakes/folders.ts";

const notice = { event: "ended", text: "2 of 2" } as Notice;

test("what a notifier leaves running is not waited for longer than it may take", async ({ repository }) => {
  expect(await runNotifier(repository, "sleep 60 & exit 0", notice, 200)).toBe("it took longer than 0.2 s");
  expect(await runNotifier(repository, "grep -q '2 of 2'", notice)).toBeNull();
});

test("what a merge did is not written through a link that leads out of the repository", async ({
  repository,
  folder,
}) => {
  mkdirSync(join(folder, "outside"));
  mkdirSync(join(repository, ".aimi"));
  symlinkSync(join(folder, "outside"), join(repository, ".aimi/swarms"));
  const { write } = mergeFile(repository, async () => true);

  await expect(write({ swarmId: "one" } as never)).rejects.toMatchObject({ code: "FILE_UNWRITABLE" });
});
