import { mkdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { expect, onTestFinished } from "vitest";
import type { Notice } from "../../../../src/contract/notice.ts";
import { openMergeReportFile } from "../../../../src/swarm/merge/merge-report-file.ts";
import { runNotifier } from "../../../../src/swarm/report/run-notifier.ts";
import { test } from "../../../fakes/folders.ts";

const notice = { event: "ended", text: "2 of 2" } as Notice;

test("what a notifier leaves running is not waited for longer than it may take", async ({ repository }) => {
  expect(await runNotifier(repository, "sleep 60 & exit 0", notice, 200)).toBe(
    "the notification program took longer than 0.2 s",
  );
  expect(await runNotifier(repository, "grep -q '2 of 2'", notice)).toBeNull();
});

test("a webhook gets the notice, and an address that does not answer is not told to anybody", async ({
  repository,
}) => {
  const heard: string[] = [];
  const server = createServer((request, response) => {
    request.on("data", (piece) => heard.push(String(piece)));
    request.on("end", () => response.writeHead(request.url === "/no" ? 403 : 204).end());
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const at = `webhook:http://127.0.0.1:${(server.address() as AddressInfo).port}`;

  expect(await runNotifier(repository, `${at}/secret`, notice)).toBeNull();
  expect(heard.map((text) => JSON.parse(text))).toEqual([notice]);
  expect(await runNotifier(repository, `${at}/no`, notice)).toBe("the webhook answered 403");
  server.close();
  expect(await runNotifier(repository, `${at}/secret`, notice)).toMatch(
    /^the webhook could not be reached: [A-Z_]+$/,
  );
  expect(await runNotifier(repository, "webhook:secret", notice)).toMatch(
    /^the webhook could not be reached(?!.*secret)/,
  );
});

test("a desktop shows its text as words", async ({ repository, folder }) => {
  const program = join(folder, process.platform === "darwin" ? "osascript" : "notify-send");
  writeFileSync(program, `#!/bin/sh\nprintf '%s\\n' "$@" > ${folder}/shown\n`, { mode: 0o755 });
  const path = process.env["PATH"];
  process.env["PATH"] = `${folder}:${path}`;
  onTestFinished(() => {
    process.env["PATH"] = path;
  });

  expect(await runNotifier(repository, "desktop", { ...notice, project: "$(id)" })).toBeNull();
  expect(readFileSync(join(folder, "shown"), "utf8")).toContain("swarm in $(id)\n2 of 2\n");
});

test("what a merge did is not written through a link that leads out of the repository", async ({
  repository,
  folder,
}) => {
  mkdirSync(join(folder, "outside"));
  mkdirSync(join(repository, ".aimi"));
  symlinkSync(join(folder, "outside"), join(repository, ".aimi/swarms"));
  const { write } = openMergeReportFile(repository);

  await expect(write({ swarmId: "one" } as never)).rejects.toMatchObject({ code: "FILE_UNWRITABLE" });
});
