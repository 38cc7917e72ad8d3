import { spawn } from "node:child_process";
import { fileURLToPath } from "node:url";
import ndjson from "ndjson";
import { sendMessages } from "../test/fakes/protocol/message-path.ts";
import { type Bench, refuse } from "./bench.ts";

const writer = fileURLToPath(new URL("plain-lines-process.ts", import.meta.url));

/** The way of a worker's messages to the host: from one journal on the disk to another, checked and acknowledged. */
export const messages: Bench = {
  title: "Messages from a worker to the host",
  async prepare({ isShort }) {
    const count = isShort ? 20_000 : 60_000;
    return {
      comparisons: [
        {
          name: "messages from an adapter's journal to the host's, per second",
          ...{ against: "the ndjson package on a pipe, without journals", goal: { sign: "≥", ratio: 0.8 } },
          note: "both journals on the disk before a message counts, every message checked against its schema and its order",
          bound:
            "the adapter, which numbers and stores each line in one process while its host is half idle, and three processes where the package has two",
          async ours() {
            const { perSecond, seqs } = await sendMessages(count, { perSecond: 0 });
            refuse(seqs < count, `${count - seqs} messages were lost`);
            return perSecond;
          },
          theirs: () => plainLines(count),
        },
        {
          name: "growth of the host's memory over a flood of messages",
          ...{ against: "32 MB", goal: { sign: "≤", ratio: 1 }, fewestRounds: 2 },
          note: `most resident memory over ${count} messages, above that after 20 000`,
          ours: async () =>
            Math.max(0, (await sendMessages(Math.max(count, 60_000), { perSecond: 0 })).hostGrowth),
          theirs: async () => 32 * 1024 ** 2,
        },
      ],
    };
  },
};

/** The same number of lines from another process, parsed by the package alone. */
async function plainLines(count: number): Promise<number> {
  const child = spawn(process.execPath, [writer, String(count)], { stdio: ["pipe", "pipe", "inherit"] });
  const lines = child.stdout.pipe(ndjson.parse());
  let seen = 0;
  let started = 0;
  for await (const message of lines) {
    if (seen === 0) started = performance.now();
    seen += 1;
    refuse(message.seq !== seen, `message ${seen} has the number ${message.seq}`);
  }
  refuse(seen !== count, `${seen} of ${count} messages came`);
  return (count / (performance.now() - started)) * 1_000;
}
