import type { ContainerEngine } from "../src/ports/engine.ts";
import { sendMessages } from "../test/fakes/message-path.ts";
import { scripted, startWorker } from "../test/fakes/worker.ts";
import type { Comparison } from "./compare.ts";

const messages = 20_000;
const allowedMs = 1_500;

/** What the adapter adds to a container that runs, and what its line to the host carries. */
export function adapterSpeed(engine: ContainerEngine | null): readonly Comparison[] {
  const path: Comparison = {
    name: "messages from an adapter's journal to the host's",
    against: "10 000 a second",
    goal: { sign: "≥", ratio: 1 },
    note: "both journals on the disk before a message counts, checked, acknowledged",
    ours: async () => (await sendMessages(messages, { perSecond: 0 })).perSecond,
    theirs: async () => 10_000,
  };
  if (engine === null) return [path];
  return [
    path,
    {
      name: "a task of one story, from the started container to its completion",
      against: "1.5 s",
      goal: { sign: "≤", ratio: 1 },
      note: "supervisor, attach, repository from a bundle, the agent, commit and checkpoint",
      ours: () => carryOutOne(engine),
      theirs: async () => allowedMs,
    },
  ];
}

async function carryOutOne(engine: ContainerEngine): Promise<number> {
  await using worker = await startWorker(engine);
  const startedAt = performance.now();
  await using line = await worker.attach();
  await line.send(
    "task-request",
    scripted(worker, { "US-001": [{ write: { path: "a.txt", content: "a\n" } }] }),
  );
  const { payload, seq } = await line.untilType("completion");
  const ms = performance.now() - startedAt;
  if (payload.status !== "completed") throw new Error(`The story ended ${payload.status}`);
  await line.send("ack", { seq });
  return ms;
}
