import { mkdir, rm } from "node:fs/promises";
import { dirname } from "node:path";
import type { GatewayMessage } from "../contract/gateway.ts";
import type { ContainerExecution, Containers } from "../engine/containers.ts";
import { SwarmError } from "../errors/errors.ts";
import type { ClockAndRandom } from "../protocol/clock-and-random.ts";
import { backoffMs } from "../text/backoff.ts";
import { BoundedText } from "../text/bounded-text.ts";
import { sanitizeLines, sanitizeText } from "../text/sanitize-text.ts";
import { type DurableLines, openDurableLines } from "../wire/durable-lines.ts";
import { readMessages } from "../wire/read-messages.ts";
import type { GatewayConnection, GatewayListener } from "./gateway-connection.ts";

export interface GatewayConnectionDeps {
  readonly containers: Pick<Containers, "exec">;
  readonly timing: ClockAndRandom;
  /**
   * Returns the first problem of a JSON value that the gateway sent, or null if the value is a valid message.
   */
  readonly findProblem: (value: unknown) => string | null;
  /** The path of the file with the host's copy of the gateway's journal. */
  readonly journalFile: string;
}

/**
 * Limits of one message line from the gateway. The line may be long, because the gateway's hello lists every
 * worker that the gateway has ever admitted.
 */
const limits = { maxLineLength: 1 << 20, maxDepth: 8 };
const diagnosticCharacters = 2_000;

/**
 * Keeps a connection to the gateway in a container; after each connect, sends the list of admitted workers.
 * Passes each entry of the gateway's journal to the listener once.
 */
export function connectToGateway(
  deps: GatewayConnectionDeps,
  container: string,
  listener: GatewayListener,
  signal: AbortSignal,
): GatewayConnection {
  const closed = new AbortController();
  const until = AbortSignal.any([signal, closed.signal]);
  let execution: ContainerExecution | null = null;
  let journal: DurableLines | null = null;
  let waiting: Waiting[] = [];
  // Counts for the present connection: how many admissions the host sent, and how many of them the gateway
  // answered.
  let sent = 0;
  let answered = 0;
  let hasGreeted = false;
  const held = hold().catch((error: unknown) => {
    for (const { reject } of waiting) reject(error);
    waiting = [];
    if (!until.aborted) listener.onLost(error instanceof Error ? error.message : String(error));
  });

  return {
    sendAdmission: synchronized,
    async [Symbol.asyncDispose]() {
      closed.abort(new Error("The owner closed the connection to the gateway"));
      await execution?.[Symbol.asyncDispose]();
      await held;
      await journal?.[Symbol.asyncDispose]();
    },
  };

  /**
   * Sends the gateway the list of admitted workers. Resolves after the host has read all journal entries that
   * the gateway had written before its answer.
   */
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

  /**
   * Sends the gateway the current list of admitted workers. The gateway's answer serves all callers whose
   * list has not been sent yet.
   */
  async function send(): Promise<void> {
    if (execution === null) return;
    sent += 1;
    for (const waiter of waiting) if (waiter.turn === 0) waiter.turn = sent;
    const line = `${JSON.stringify({ type: "admission", payload: listener.admission() })}\n`;
    // Ignore a failed write: the host then opens a new connection, and sends the admission on that one.
    await execution.write(Buffer.from(line)).catch(() => {});
  }

  async function hold(): Promise<void> {
    await mkdir(dirname(deps.journalFile), { recursive: true });
    journal = await openDurableLines(deps.journalFile);
    for (let failures = 0; !until.aborted; failures += 1) {
      hasGreeted = false;
      let why = "the connection to the gateway ended";
      try {
        await listener.ensureRunning(until);
        why = await converse();
      } catch (error) {
        if (until.aborted) return;
        if (!(error instanceof SwarmError)) throw error;
        why = error.message;
      }
      if (until.aborted) return;
      // A connection that was established before it broke restarts the backoff.
      if (hasGreeted) failures = 0;
      listener.onLost(sanitizeText(why, 500));
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
            if (!(await isSameJournal(message.lastSeq))) return "the gateway's journal was replaced";
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
    return sanitizeLines(diagnostics.finish().text).trim() || "the connection to the gateway ended";
  }

  /**
   * Returns whether the host's copy can still belong to the gateway's journal. If the gateway's journal is
   * shorter than the copy, the gateway's volume was lost, and the host deletes the copy.
   */
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
  /**
   * The number of the sent list of admitted workers whose answer this caller awaits, or 0 if that list is not
   * sent yet.
   */
  turn: number;
  /**
   * The sequence number of the gateway's journal entry up to which the host must read, or null until the
   * gateway has answered.
   */
  target: number | null;
  readonly resolve: () => void;
  readonly reject: (error: unknown) => void;
}

async function* onlyOutput(
  execution: ContainerExecution,
  diagnostics: BoundedText,
): AsyncGenerator<Uint8Array> {
  for await (const { stream, bytes } of execution.output) {
    if (stream === "stdout") yield bytes;
    else diagnostics.add(bytes);
  }
}
