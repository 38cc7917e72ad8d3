import type { ContainerEngine } from "../src/engine/engine.ts";
import { scripted, startWorker } from "../test/fakes/swarm/worker.ts";
import { type Bench, nothing } from "./bench.ts";

const allowedMs = 1_500;

/** What the adapter adds to a container that runs. */
export const adapter: Bench = {
  title: "A task of one story",
  async prepare({ engine }) {
    if (engine === null) return nothing;
    return {
      comparisons: [
        {
          name: "a task of one story, from the started container to its completion",
          ...{ against: "1.5 s", goal: { sign: "≤", ratio: 1 } },
          note: "supervisor, attach, repository from a bundle, the agent, commit and checkpoint",
          ours: () => carryOutOne(engine),
          theirs: async () => allowedMs,
        },
      ],
    };
  },
};

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
