import { createHash } from "node:crypto";
import { expect } from "vitest";
import type { AcpMessage, Completion, TaskRequestPayload } from "../../../src/contract/acp.ts";
import {
  type AdapterMessage,
  isJournalledMessage,
  type JournalledMessage,
} from "../../../src/protocol/rules/protocol-messages.ts";
import { eventually } from "../eventually.ts";
import { git } from "../git/repository.ts";
import { type Attached, fetchBundle, type Worker } from "../swarm/worker.ts";

export const isSaying =
  (words: string) =>
  (message: AcpMessage): boolean =>
    message.type === "activity" && message.payload.summary === words;

const secret = "not-for-the-journal";

/** A worker's host that loses its lines and its containers, and has every message exactly once at the end. */
export class SteadyHost {
  readonly kept: JournalledMessage[] = [];
  readonly #worker: Worker;
  readonly #request: TaskRequestPayload;

  constructor(worker: Worker, request: TaskRequestPayload) {
    this.#worker = worker;
    this.#request = request;
  }

  /** Attaches behind what it has, and says what a host says then. A container that has ended is started. */
  async join(): Promise<Attached> {
    // The end is worth hearing twice.
    const from = this.kept.length - (this.kept.at(-1)?.type === "completion" ? 1 : 0);
    const facts = await this.#worker.containers.inspect(this.#worker.id);
    if (facts?.state === "exited") await this.#worker.start();
    const line = await attachSoon(this.#worker, from);
    await line.send("credentials", { env: { TOKEN: secret } });
    await line.send("task-request", this.#request);
    return line;
  }

  /** Takes what a line brought: what is new must be next, and what is known must be the same. */
  keep({ messages }: Pick<Attached, "messages">): void {
    let before: number | null = null;
    for (const message of (messages as readonly AdapterMessage[]).filter(isJournalledMessage)) {
      const { seq } = message;
      if (before !== null && seq !== before + 1) throw new Error(`${seq} came after ${before}`);
      before = seq;
      const known = this.kept[seq - 1];
      if (known && JSON.stringify(known) !== JSON.stringify(message))
        throw new Error(`twice: ${JSON.stringify(known)} and ${JSON.stringify(message)}`);
      if (seq > this.kept.length + 1) throw new Error(`${seq} came after ${this.kept.length}`);
      if (!known) this.kept.push(message);
    }
  }

  /** Hears a line to the end of the task, and looks at everything that is there by then. Acknowledges nothing yet. */
  async hearEnd(line: Attached): Promise<Completion> {
    const last = await line.until(({ type }) => type === "completion" || type === "error");
    this.keep(line);
    if (last.type !== "completion") throw new Error(JSON.stringify(last));
    await this.#examine(last);
    return last;
  }

  /** The same, with the end acknowledged and the container gone as it should. */
  async finish(line: Attached): Promise<Completion> {
    const completion = await this.hearEnd(line);
    await line.send("ack", { seq: completion.seq });
    expect(await this.#worker.ended()).toBe(completion.payload.status === "completed" ? 0 : 1);
    return completion;
  }

  statuses(): string[] {
    return this.kept.flatMap(({ type, payload }) =>
      type === "progress-update" ? [`${payload.storyId} ${payload.status}`] : [],
    );
  }

  /** A file of what the last bundle brought that was fetched. */
  fileOf(path: string): string {
    return git(this.#worker.repository, "show", `refs/fetched:${path}`);
  }

  async #examine({ payload }: Completion): Promise<void> {
    const worker = this.#worker;
    const journal = (await worker.read("/aimi/journal.ndjson")).toString();
    expect(journal).not.toContain(secret);
    expect(journal.endsWith("\n")).toBe(true);
    const lines = journal.trimEnd().split("\n");
    expect(lines.length).toBe(this.kept.length);
    if (this.kept.length < 1_000) expect(lines.map((line) => JSON.parse(line))).toEqual(this.kept);

    for (const { commit, bundle, sha256, ref } of this.kept.flatMap(bundlesOf))
      await expectFetchable(worker, { commit, bundle, sha256, ref });
    if (payload.bundle)
      await expectFetchable(worker, {
        ...payload,
        bundle: payload.bundle,
        commit: payload.head,
        ref: branch,
      });
    await eventually("nothing of the agent's user runs", async () =>
      (await agentProcesses(worker)) === "" ? true : null,
    );
  }
}

const branch = "refs/heads/feat/work";

interface Named {
  readonly commit: string | null;
  readonly bundle: string;
  readonly sha256: string | null;
  readonly ref: string;
}

/** Everything that a message says can be fetched. */
function bundlesOf(message: JournalledMessage): Named[] {
  if (message.type === "checkpoint") {
    const { bundle, commit, sha256 } = message.payload;
    return bundle === null ? [] : [{ bundle, commit, sha256, ref: branch }];
  }
  if (message.type !== "progress-update" || !message.payload.failedWork) return [];
  return [{ ...message.payload.failedWork, ref: `refs/aimi/failed/${message.payload.storyId}` }];
}

async function expectFetchable(worker: Worker, { commit, bundle, sha256, ref }: Named): Promise<void> {
  const bytes = await worker.read(bundle);
  expect(createHash("sha256").update(bytes).digest("hex")).toBe(sha256);
  expect(fetchBundle(worker.repository, bytes, ref)).toBe(commit);
}

/** A container that has just started has no supervisor yet. */
function attachSoon(worker: Worker, from: number): Promise<Attached> {
  return eventually("a supervisor to attach to", async () => {
    const line = await worker.attach(from);
    const isThere = await line.untilType("hello").then(
      () => true,
      () => false,
    );
    if (isThere) return line;
    await line[Symbol.asyncDispose]();
    return null;
  });
}

/** What runs as the agent's user, a line each; empty when nothing does. */
async function agentProcesses(worker: Worker): Promise<string> {
  const look = `for s in $(grep -lE '^Uid:[[:space:]]+1000' /proc/[0-9]*/status 2>/dev/null); do
    grep -q '^State:[[:space:]]*[ZX]' $s || echo "$s $(tr '\\0' ' ' < \${s%status}cmdline)"; done`;
  return (await worker.run(["sh", "-c", look])).text.trim();
}

/** Sends a signal to the programs whose command line begins so; root in the container may. */
export async function kill(worker: Worker, program: string, signal = "KILL"): Promise<void> {
  const { code, text } = await worker.run(["pkill", `-${signal}`, "-f", `^${program}`]);
  // With the supervisor the container goes, and pkill with it.
  if (code === 1) throw new Error(`nothing runs that begins with ${program}: ${text}`);
}

/** Waits until the snapshot of a story has a file that is as it should be, and gives its content. */
export function untilSnapshot(
  worker: Worker,
  { storyId, path }: { readonly storyId: string; readonly path: string },
): Promise<string> {
  return eventually(`a snapshot of ${storyId} with ${path}`, () => readSnapshot(worker, { storyId, path }));
}

export async function readSnapshot(
  worker: Worker,
  { storyId, path }: { readonly storyId: string; readonly path: string },
): Promise<string | null> {
  try {
    const bytes = await worker.read("/aimi/out/wip.bundle");
    fetchBundle(worker.repository, bytes, `refs/aimi/wip/${storyId}`);
    return git(worker.repository, "show", `refs/fetched:${path}`);
  } catch {
    // There is none yet, or it is without what is looked for.
    return null;
  }
}
