import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import { count } from "../counts.ts";
import type { MessagePath } from "../fakes/protocol/message-path.ts";

const program = fileURLToPath(new URL("../fakes/protocol/message-path-process.ts", import.meta.url));
const MB = 1_000_000;

test("10 000 messages a second go from journal to journal without growing memory on either side", async () => {
  const { stdout } = await promisify(execFile)(process.execPath, [
    ...["--expose-gc", "--max-semi-space-size=2", program],
    ...[String(count.messages), "10000"],
  ]);
  const { seqs, adapterGrowth, hostGrowth }: MessagePath = JSON.parse(stdout);

  expect(seqs).toBe(count.messages + 1);
  expect(adapterGrowth).toBeLessThan(30 * MB);
  expect(hostGrowth).toBeLessThan(30 * MB);
});
