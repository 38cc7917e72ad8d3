import { spawn } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { expect, inject, onTestFinished } from "vitest";
import { dockerAt } from "../../fakes/engine/engine-at.ts";
import { swarmEnv, test } from "../../fakes/swarm/swarms.ts";

const demo = fileURLToPath(new URL("../../../scripts/demo.ts", import.meta.url));

test("what `npm start` shows succeeds to its end, with the sample's own tests on what was merged", async ({
  place,
}) => {
  // The sample is gone by then, and its image is kept for the next time.
  onTestFinished(async () => {
    const docker = dockerAt(inject("endpoint"));
    for (const { Id } of await docker.listImages({ filters: { reference: ["aimi-sandbox-sample"] } }))
      await docker.getImage(Id).remove({ force: true });
  });
  const run = spawn(process.execPath, [demo], {
    env: { ...process.env, ...swarmEnv(place) },
    stdio: ["ignore", "pipe", "pipe"],
  });
  const [said, complained] = [run.stdout.toArray(), run.stderr.toArray()];

  const [exit] = await once(run, "close");

  const stdout = Buffer.concat(await said).toString();
  expect(exit, stdout + Buffer.concat(await complained).toString()).toBe(0);
  for (const words of [
    "reported on 2 files",
    "completed  command   1/1",
    "Merge feat/command",
    "fail 0",
    "— Done.",
  ])
    expect(stdout).toContain(words);
});
