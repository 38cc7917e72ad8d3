import { setTimeout as delay } from "node:timers/promises";
import { openJournal } from "../../../adapter/journal/journal.ts";
import { supervisorSocketPath } from "../../../adapter/machine/sandbox-paths.ts";
import { openJournalServer } from "../../../src/wire/journal-server.ts";

/**
 * node --expose-gc message-flood-process.ts <folder> <count> <swarmId> <per second>: journals so many messages at that pace, 0 for as
 * fast as they become durable, as a supervisor does, and prints its growth in memory. It ends when it is told to on its input.
 */
const [folder = "", count = "0", swarmId = "", perSecond = "0"] = process.argv.slice(2);
const paths = { workspace: "/", home: "/", aimi: folder, layer: folder };
const envelope = () => ({ timestamp: new Date().toISOString(), swarmId, attempt: 1, containerId: "" });
/** So many at once are handed to the journal, which may have twice as many on their way to the disk. */
const together = 500;

await using journal = await openJournal(paths, { envelope, onFull: () => {} });
await using listeners = await openJournalServer(supervisorSocketPath(paths), {
  journal,
  onMessage: () => {},
  hello: () => {
    const payload = {
      protocol: "acp/1",
      adapterVersion: "0",
      phase: "running",
      lastSeq: journal.lastSeq,
      agent: null,
    };
    return JSON.stringify({ type: "hello", ...envelope(), payload });
  },
});
process.stdout.write("ready\n");
while (listeners.count === 0) await new Promise((resolve) => setImmediate(resolve));

/** What a program needs to be warm is no growth. */
const warmUp = 20_000;
let before = 0;
let most = 0;
const startedAt = performance.now();
let onTheirWay: Promise<unknown> = Promise.resolve();
for (let sent = 0; sent < Number(count); sent += together) {
  const earlier = onTheirWay;
  onTheirWay = Promise.all(
    Array.from({ length: Math.min(together, Number(count) - sent) }, (_each, index) =>
      journal.append({
        type: "progress-update",
        payload: {
          storyId: "US-001",
          status: "in_progress",
          output: `Step ${sent + index} of a long story that goes on`,
        },
      }),
    ),
  );
  await earlier;
  if (Number(perSecond) > 0)
    await delay(
      Math.max(0, ((sent + together) / Number(perSecond)) * 1_000 - (performance.now() - startedAt)),
    );
  if (sent === warmUp) before = rss();
  if (sent % warmUp === 0) most = Math.max(most, rss());
}
await onTheirWay;
await journal.append({
  type: "completion",
  payload: { status: "failed", prUrl: null, errors: [], head: null, bundle: null, sha256: null },
});
const journalledMs = performance.now() - startedAt;
most = Math.max(most, rss());
process.stdout.write(`${JSON.stringify({ grownBytes: most - before, journalledMs })}\n`);
for await (const _word of process.stdin) break;
process.stdin.destroy();

function rss(): number {
  globalThis.gc?.();
  return process.memoryUsage.rss();
}
