import { mkdir, rm } from "node:fs/promises";
import { dirname } from "node:path";
import type { GatewayMessage } from "../contract/gateway.ts";
import type { ContainerExecution, Containers } from "../engine/containers.ts";
import { messageOf, requireExpected } from "../errors/errors.ts";
import { systemClockAndRandom } from "../protocol/clock-and-random.ts";
import { findGatewayMessageProblem } from "../schema/find-gateway-problem.ts";
import { backoffMs } from "../text/backoff.ts";
import { BoundedText } from "../text/bounded-text.ts";
import { sanitizeLines, sanitizeText } from "../text/sanitize-text.ts";
import { type DurableLines, openDurableLines } from "../wire/durable-lines.ts";
import { readMessages } from "../wire/read-messages.ts";
import { AdmissionWaiters } from "./admission-waiters.ts";
import type { GatewayConnection, GatewayListener } from "./gateway-connection.ts";

export interface GatewayToConnect {
  readonly containers: Pick<Containers, "exec">;
  /** The name of the gateway's container. */
  readonly container: string;
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
  gateway: GatewayToConnect,
  listener: GatewayListener,
  signal: AbortSignal,
): GatewayConnection {
  const closed = new AbortController();
  const until = AbortSignal.any([signal, closed.signal]);
  const waiters = new AdmissionWaiters(until);
  let execution: ContainerExecution | null = null;
  let journal: DurableLines | null = null;
  let hasGreeted = false;
  const held = hold().catch((error: unknown) => {
    waiters.fail(error);
    if (!until.aborted) listener.onLost(messageOf(error));
  });

  return {
    sendAdmission(within) {
      const answered = waiters.add(within);
      void send();
      return answered;
    },
    async [Symbol.asyncDispose]() {
      closed.abort(new Error("The owner closed the connection to the gateway"));
      await execution?.[Symbol.asyncDispose]();
      await held;
      await journal?.[Symbol.asyncDispose]();
    },
  };

  /** Sends the gateway the current list of admitted workers. */
  async function send(): Promise<void> {
    if (execution === null || until.aborted) return;
    waiters.sent();
    const line = `${JSON.stringify({ type: "admission", payload: listener.admission() })}\n`;
    // Ignore a failed write: the host then opens a new connection, and sends the admission on that one.
    await execution.write(Buffer.from(line)).catch(() => {});
  }

  async function hold(): Promise<void> {
    await mkdir(dirname(gateway.journalFile), { recursive: true });
    journal = await openDurableLines(gateway.journalFile);
    for (let failures = 0; !until.aborted; failures += 1) {
      hasGreeted = false;
      let why: string;
      try {
        await listener.ensureRunning(until);
        why = await converse(gateway, journal.count, take, until);
      } catch (error) {
        if (until.aborted) return;
        requireExpected(error);
        why = error.message;
      } finally {
        execution = null;
        waiters.disconnected();
      }
      if (until.aborted) return;
      // A connection that was established before it broke restarts the backoff.
      if (hasGreeted) failures = 0;
      listener.onLost(sanitizeText(why, 500));
      await systemClockAndRandom.wait(backoffMs(failures + 1, Math.random()), until).catch(() => {});
    }
  }

  /** Takes a message of the gateway. Returns why the connection must end, or null. */
  async function take(message: GatewayMessage, joined: ContainerExecution): Promise<string | null> {
    if (message.type === "hello" && !hasGreeted) {
      hasGreeted = true;
      // If the gateway's journal is shorter than the host's copy, the gateway's volume was lost, and the host
      // deletes the copy.
      if (journal !== null && journal.count > message.lastSeq) {
        journal = await replaceJournal(gateway.journalFile, journal);
        return "the gateway's journal was replaced";
      }
      listener.onHello(message);
      execution = joined;
      await send();
      return null;
    }
    switch (message.type) {
      case "admission":
        break;
      case "login":
        listener.onLogin(message);
        break;
      case "hello":
        listener.onHello(message);
        waiters.answered(message.lastSeq);
        break;
      default:
        if (journal === null || message.seq <= journal.count) break;
        listener.onEntry(message);
        await journal.add(JSON.stringify(message));
    }
    waiters.read(journal?.count ?? 0);
    return null;
  }
}

async function replaceJournal(file: string, journal: DurableLines): Promise<DurableLines> {
  await journal[Symbol.asyncDispose]();
  await rm(file, { force: true });
  return openDurableLines(file);
}

/**
 * Connects to the gateway once, and passes on its messages, with the entries of its journal after `from`.
 * Returns why the connection ended.
 */
async function converse(
  { containers, container }: GatewayToConnect,
  from: number,
  onMessage: (message: GatewayMessage, execution: ContainerExecution) => Promise<string | null>,
  signal: AbortSignal,
): Promise<string> {
  const diagnostics = new BoundedText(diagnosticCharacters);
  const command = ["/opt/aimi/gateway", "admit", "--from", String(from)];
  const spec = { command, input: true, user: "1000:1000" } as const;
  await using execution = await containers.exec(container, spec, signal);
  for await (const group of readMessages(onlyOutput(execution, diagnostics), limits)) {
    for (const line of group) {
      const problem = line.kind === "violation" ? line.reason : findGatewayMessageProblem(line.value);
      if (problem !== null || line.kind === "violation") return diagnostics.finish().text || `${problem}`;
      const end = await onMessage(line.value as GatewayMessage, execution);
      if (end !== null) return end;
    }
  }
  return sanitizeLines(diagnostics.finish().text).trim() || "the connection to the gateway ended";
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
