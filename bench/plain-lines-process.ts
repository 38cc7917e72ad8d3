import { once } from "node:events";

/** node plain-lines-process.ts <count>: writes so many messages as an adapter's are, and keeps none of them. */
const count = Number(process.argv[2]);
for (let seq = 1; seq <= count; seq += 1) {
  const message = {
    ...{ type: "progress-update", seq, timestamp: new Date().toISOString(), attempt: 1 },
    ...{ swarmId: "5d0f3f5e-0c3a-4f3e-9a44-6a1f6c1f4a11", containerId: "c".repeat(64) },
    payload: { storyId: "US-001", status: "in_progress", output: `Step ${seq} of a long story that goes on` },
  };
  if (!process.stdout.write(`${JSON.stringify(message)}\n`)) await once(process.stdout, "drain");
}
