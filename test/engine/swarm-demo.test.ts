import { spawn } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { expect } from "vitest";
import { swarmEnv, test } from "../fakes/swarms.ts";

const demo = fileURLToPath(new URL("../../scripts/demo.ts", import.meta.url));

test("what `npm start` shows succeeds to its end, with the sample's own tests on what was merged", async ({
  place,
}) => {
  const run = spawn(process.execPath, [demo], {
    env: { ...process.env, ...swarmEnv(place) },
    stdio: ["ignore", "pipe", "pipe"],
  });
  const [said, complained] = [run.stdout.toArray(), run.stderr.toArray()];

  const [exit] = await once(run, "close");

  const stdout = Buffer.concat(await said).toString();
  expect(exit, stdout + Buffer.concat(await complained).toString()).toBe(0);
  for (const words of ["reported on 2 files", "completed  command   1/1", "Merge feat/command", "fail 0", "— Done."])
    expect(stdout).toContain(words);
});
