import { mkdir, rm } from "node:fs/promises";
import { dirname } from "node:path";
import { backoffMs } from "../domain/backoff.ts";
import { BoundedText } from "../domain/bounded-text.ts";
import { cleanLines, cleanText } from "../domain/clean-text.ts";
import { SwarmError } from "../domain/errors.ts";
import type { GatewayMessage } from "../domain/generated/gateway.ts";
import type { Containers, Execution } from "../ports/containers.ts";
import type { GatewayLine, GatewayListener } from "../ports/gateway-line.ts";
import { type DurableLines, openDurableLines } from "../wire/durable-lines.ts";
import { readMessages } from "../wire/read-messages.ts";
import type { Timing } from "./timing.ts";

export interface GatewayLineDeps {
  readonly containers: Pick<Containers, "exec">;
  readonly timing: Timing;
  /** The first thing that is wrong with a line; null when it has the form of a message. */
  readonly findProblem: (value: unknown) => string | null;
  /** The host's copy of the journal. */
  readonly journalFile: string;
}

/** The gateway's first line has every worker that it ever let in. */
const limits = { longestLine: 1 << 20, deepest: 8 };
const diagnosticCharacters = 2_000;

/** Stays joined to the gateway in a container: what it says is told once, and what it is to know is handed over each time anew. */
export function holdGateway(
  deps: GatewayLineDeps,
  container: string,
  listener: GatewayListener,
  signal: AbortSignal,
): GatewayLine {
  const closed = new AbortController();
  const until = AbortSignal.any([signal, closed.signal]);
  let execution: Execution | null = null;
  let journal: DurableLines | null = null;
  let waiting: Waiting[] = [];
  // Of this connection: what was handed over, and how much of that was answered.
  let sent = 0;
  let answered = 0;
  let hasGreeted = false;
  const held = hold().catch((error: unknown) => {
    for (const { reject } of waiting) reject(error);
    waiting = [];
    if (!until.aborted) listener.onLost(error instanceof Error ? error.message : String(error));
  });

  return {
    handOver: synchronized,
    async [Symbol.asyncDispose]() {
      closed.abort(new Error("The line was closed"));
      await execution?.[Symbol.asyncDispose]();
      await held;
      await journal?.[Symbol.asyncDispose]();
    },
  };

  /** The gateway answers every admission with how far its journal has come. */
  function synchronized(within: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      if (until.aborted) return reject(until.reason);
      const waiter: Waiting = { turn: 0, target: null, resolve, reject };
      waiting.push(waiter);
      const giveUp = (): void => {
        waiting = waiting.filter((each) => each !== waiter);
        reject(within.aborted ? within.reason : until.reason);
      };
      for (const each of [within, until]) each.addEventListener("abort", giveUp, { once: true });
      void send();
    });
  }

  /** Whoever waits is answered by this or by what is handed over later. */
  async function send(): Promise<void> {
    if (execution === null) return;
    sent += 1;
    for (const waiter of waiting) if (waiter.turn === 0) waiter.turn = sent;
    const line = `${JSON.stringify({ type: "admission", payload: listener.admission() })}\n`;
    // One that breaks is made again, and hears it then.
    await execution.write(Buffer.from(line)).catch(() => {});
  }

  async function hold(): Promise<void> {
    await mkdir(dirname(deps.journalFile), { recursive: true });
    journal = await openDurableLines(deps.journalFile);
    for (let failures = 0; !until.aborted; failures += 1) {
      hasGreeted = false;
      let why = "the connection ended";
      try {
        await listener.ensure(until);
        why = await converse();
      } catch (error) {
        if (until.aborted) return;
        if (!(error instanceof SwarmError)) throw error;
        why = error.message;
      }
      if (until.aborted) return;
      // One that was there and is gone is made again at once; one that does not come is not asked for all the time.
      if (hasGreeted) failures = 0;
      listener.onLost(cleanText(why, 500));
      await deps.timing.wait(backoffMs(failures + 1, deps.timing.random()), until).catch(() => {});
    }
  }

  async function converse(): Promise<string> {
    const diagnostics = new BoundedText(diagnosticCharacters);
    const from = String(journal?.count ?? 0);
    await using joined = await deps.containers.exec(
      container,
      { command: ["/opt/aimi/gateway", "admit", "--from", from], input: true, user: "1000:1000" },
      until,
    );
    try {
      for await (const group of readMessages(onlyOutput(joined, diagnostics), limits)) {
        for (const line of group) {
          const problem = line.kind === "violation" ? line.reason : deps.findProblem(line.value);
          if (problem !== null || line.kind === "violation") return diagnostics.finish().text || `${problem}`;
          const message = line.value as GatewayMessage;
          if (message.type === "hello" && !hasGreeted) {
            hasGreeted = true;
            if (!(await isSameJournal(message.lastSeq))) return "its journal is another one";
            listener.onHello(message);
            execution = joined;
            await send();
          } else await take(message);
        }
      }
    } finally {
      execution = null;
      sent = 0;
      answered = 0;
      for (const waiter of waiting) Object.assign(waiter, { turn: 0, target: null });
    }
    return cleanLines(diagnostics.finish().text).trim() || "the connection ended";
  }

  /** One that is shorter than what was told here is not the one that was told: its volume was lost. */
  async function isSameJournal(lastSeq: number): Promise<boolean> {
    if (journal === null || journal.count <= lastSeq) return true;
    await journal[Symbol.asyncDispose]();
    await rm(deps.journalFile, { force: true });
    journal = await openDurableLines(deps.journalFile);
    return false;
  }

  async function take(message: GatewayMessage): Promise<void> {
    switch (message.type) {
      case "admission":
        return;
      case "login":
        return listener.onLogin(message);
      case "hello":
        listener.onHello(message);
        answered += 1;
        for (const waiter of waiting)
          if (waiter.turn > 0 && waiter.turn <= answered) waiter.target ??= message.lastSeq;
        break;
      default:
        if (message.seq <= (journal?.count ?? 0)) return;
        listener.onEntry(message);
        await journal?.add(JSON.stringify(message));
    }
    const reached = journal?.count ?? 0;
    const done = waiting.filter(({ target }) => target !== null && target <= reached);
    waiting = waiting.filter((waiter) => !done.includes(waiter));
    for (const { resolve } of done) resolve();
  }
}

interface Waiting {
  /** Which of the things that were handed over it waits for; 0 before that. */
  turn: number;
  /** How far the journal must be told; null until the gateway has said how far it has come. */
  target: number | null;
  readonly resolve: () => void;
  readonly reject: (error: unknown) => void;
}

async function* onlyOutput(execution: Execution, diagnostics: BoundedText): AsyncGenerator<Uint8Array> {
  for await (const { stream, bytes } of execution.output) {
    if (stream === "stdout") yield bytes;
    else diagnostics.add(bytes);
  }
}
