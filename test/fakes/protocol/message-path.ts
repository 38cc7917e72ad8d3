import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import type { ContainerExecution, OutputChunk } from "../../../src/engine/containers.ts";
import { noCrashHook } from "../../../src/machine/crash-points.ts";
import { systemClockAndRandom } from "../../../src/protocol/clock-and-random.ts";
import { openAdapterConversation } from "../../../src/protocol/open-conversation.ts";
import { openHostJournal } from "../../../src/protocol/open-host-journal.ts";
import { newConversationState } from "../../../src/protocol/rules/message-order.ts";
import { findAdapterMessageProblem } from "../../../src/schema/find-message-problem.ts";

const here = (file: string): string => fileURLToPath(new URL(file, import.meta.url));
const swarmId = "5d0f3f5e-0c3a-4f3e-9a44-6a1f6c1f4a11";
const containerId = "c".repeat(64);

export interface MessagePath {
  readonly perSecond: number;
  /** By how much the process with the journal grew, and this one. */
  readonly adapterGrowth: number;
  readonly hostGrowth: number;
  readonly seqs: number;
}

/** So many messages from an adapter's journal over its socket and `attach` to the host's journal, acknowledged. */
export async function sendMessages(
  count: number,
  { perSecond }: { readonly perSecond: number },
): Promise<MessagePath> {
  const folder = mkdtempSync(join(tmpdir(), "swarm-path-"));
  mkdirSync(join(folder, "host"));
  const flood = spawn(
    process.execPath,
    [
      "--expose-gc",
      "--max-semi-space-size=2",
      here("message-flood-process.ts"),
      folder,
      String(count),
      swarmId,
      String(perSecond),
    ],
    {
      stdio: ["pipe", "pipe", "inherit"],
    },
  );
  try {
    const words = createInterface(flood.stdout)[Symbol.asyncIterator]();
    await words.next();
    const begin = newConversationState({
      swarmId,
      attempt: 1,
      containerId,
      statusById: new Map([["US-001", "pending"]]),
    });
    await using journal = await openHostJournal(join(folder, "host", "journal-1.ndjson"), {
      begin,
      findProblem: findAdapterMessageProblem,
    });
    let before = 0;
    let most = 0;
    let seqs = 0;
    // Of the first message: before it stands what an attachment takes to be there.
    let startedAt = 0;
    await using conversation = openAdapterConversation(
      {
        crashPoint: noCrashHook,
        timing: systemClockAndRandom,
        findProblem: findAdapterMessageProblem,
        containers: {
          exec: async (_id, { command }, signal) => attachProcess(folder, command.at(-1) ?? "0", signal),
          inspect: async () => null,
          copyOut: () => {
            throw new Error("There is no container to copy from");
          },
        },
      },
      { containerId, journal, request: new Uint8Array(), credentials: () => null },
      new AbortController().signal,
    );
    let ms = 0;
    for await (const event of conversation.events) {
      if (event.kind === "message" && event.message.type === "completion") ms = performance.now() - startedAt;
      if (event.kind === "message" && "seq" in event.message) seqs += 1;
      if (seqs === 1) startedAt = performance.now();
      if (seqs % 20_000 !== 0) continue;
      globalThis.gc?.();
      const now = process.memoryUsage.rss();
      // What a program needs to be warm is no growth.
      if (seqs === 20_000) before = now;
      most = Math.max(most, now);
    }
    const { value: told } = await words.next();
    return {
      perSecond: (count / ms) * 1_000,
      adapterGrowth: JSON.parse(told ?? "").grownBytes,
      hostGrowth: most - before,
      seqs,
    };
  } finally {
    flood.stdin.end("end\n");
    flood.kill();
    rmSync(folder, { recursive: true, force: true });
  }
}

function attachProcess(folder: string, from: string, signal: AbortSignal | undefined): ContainerExecution {
  const child = spawn(process.execPath, [here("attach-process.ts"), folder, from], {
    stdio: ["pipe", "pipe", "inherit"],
  });
  const exited = once(child, "exit");
  signal?.addEventListener("abort", () => child.kill(), { once: true });
  async function* output(): AsyncGenerator<OutputChunk> {
    for await (const bytes of child.stdout) yield { stream: "stdout", bytes };
  }
  return {
    id: "attach",
    output: output(),
    async write(bytes) {
      if (!child.stdin.write(bytes)) await once(child.stdin, "drain");
    },
    endInput: async () => void child.stdin.end(),
    exit: async () => {
      const [code] = await exited;
      return { kind: "exited", code: code ?? 1 };
    },
    async [Symbol.asyncDispose]() {
      child.kill();
      await exited;
    },
  };
}
