import type { Duplex } from "node:stream";
import { setTimeout as delay } from "node:timers/promises";
import { jsonLines } from "../src/wire/text-lines.ts";
import { activity, heartbeat, hello, message, type News, progress } from "../test/fakes/protocol/acp-talk.ts";
import type { Bundled } from "./crowd-work.ts";

/** How busy a worker of the crowd is. */
export interface CrowdPace {
  readonly storyMs: number;
  readonly messageMs: number;
}

export interface CrowdWorker {
  /** Joins whoever attaches: what is in the journal behind `from`, and what comes. */
  join(from: number, client: Duplex): void;
}

interface CrowdSubject {
  readonly swarmId: string;
  readonly containerId: string;
  /** The commits of its stories, in their order. */
  readonly work: readonly Bundled[];
  readonly pace: CrowdPace;
  /** Told when its last word was acknowledged. */
  readonly onEnd: () => void;
}

const heartbeatMs = 5_000;

/** The adapter's side of a container that is none: it says what a worker says that carries out its stories, at the pace of an agent. */
export function crowdWorker({ swarmId, containerId, work, pace, onEnd }: CrowdSubject): CrowdWorker {
  const journal: string[] = [];
  const clients = new Set<Duplex>();
  const envelope = (): object => ({
    ...{ swarmId, containerId, attempt: 1 },
    timestamp: new Date().toISOString(),
  });
  let phase: "waiting" | "running" | "finished" = "waiting";
  const tellAll = (line: string): void => {
    for (const client of clients) client.write(framed(line));
  };
  const say = ({ type, payload }: News): void => {
    const line = `${JSON.stringify(message(type, payload, { ...envelope(), seq: journal.length + 1 }))}\n`;
    journal.push(line);
    tellAll(line);
  };

  return {
    join(from, client) {
      const greeting = hello({ phase, lastSeq: journal.length }, { ...envelope(), containerId: "" });
      client.write(framed([`${JSON.stringify(greeting)}\n`, ...journal.slice(from)].join("")));
      clients.add(client);
      client.once("close", () => clients.delete(client));
      hear(client).catch(() => client.destroy());
    },
  };

  async function hear(client: Duplex): Promise<void> {
    for await (const said of jsonLines(client, { maxLength: 8 << 20 })) {
      const { type, payload } = said as {
        readonly type: string;
        readonly payload: { readonly seq?: number };
      };
      if (type === "task-request" && phase === "waiting") void carryOut();
      if (type !== "ack" || phase !== "finished" || payload.seq !== journal.length) continue;
      onEnd();
      for (const each of clients) each.end();
    }
  }

  async function carryOut(): Promise<void> {
    phase = "running";
    const beating = setInterval(
      () => tellAll(`${JSON.stringify(heartbeat({ phase }, envelope()))}\n`),
      heartbeatMs,
    );
    for (const { storyId, from, commit, path, bytes, sha256 } of work) {
      say(progress(storyId, "in_progress", { from }));
      const until = performance.now() + pace.storyMs;
      for (let step = 1; performance.now() < until; step += 1) {
        await delay(pace.messageMs);
        say(activity(storyId, `step ${step} of a long story that goes on`));
      }
      say({ type: "checkpoint", payload: { storyId, commit, bundle: path, bytes: bytes.length, sha256 } });
      say(progress(storyId, "completed", { commit, checks: [] }));
    }
    clearInterval(beating);
    phase = "finished";
    const nothing = { prUrl: null, errors: [], bundle: null, sha256: null };
    say({
      type: "completion",
      payload: { status: "completed", head: work.at(-1)?.commit ?? null, ...nothing },
    });
  }
}

/** As an engine frames what a program writes. */
export function framed(content: string | Uint8Array): Buffer {
  const bytes = Buffer.from(content as string);
  const head = Buffer.alloc(8);
  head[0] = 1;
  head.writeUInt32BE(bytes.length, 4);
  return Buffer.concat([head, bytes]);
}
