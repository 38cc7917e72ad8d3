import { lookup } from "node:dns/promises";
import { once } from "node:events";
import { connect as connectTo, type Socket } from "node:net";
import type { Admission, GatewayMessage } from "../src/contract/gateway.ts";
import { openJournalServer } from "../src/wire/journal-server.ts";
import { createAdmittedWorkers } from "./accounts/admitted-workers.ts";
import { controlSocketPath, type GatewayPaths, journalPath } from "./accounts/gateway-paths.ts";
import { openJournal, readJournal } from "./accounts/journal.ts";
import { createRateLimitTracker } from "./accounts/rate-limit-tracker.ts";
import { openRefusedRequestJournal } from "./accounts/refused-request-journal.ts";
import { SpendingLedger } from "./accounts/spending-ledger.ts";
import { type GatewayServerLimits, type ListenAddress, openGatewayServer } from "./front/gateway-server.ts";
import { createSubscriptionLogins } from "./model/subscription-logins.ts";

export interface RunGatewayDeps {
  readonly paths: GatewayPaths;
  readonly addresses: readonly ListenAddress[];
  readonly version: string;
  readonly stopped: AbortSignal;
  readonly complain: (line: string) => void;
  readonly now?: () => number;
  /** Limits of the gateway's server that override the defaults. */
  readonly bounds?: Partial<GatewayServerLimits>;
}

const connectMs = 10_000;

/** Runs the gateway until the signal `stopped` aborts. */
export async function runGateway({
  paths,
  addresses,
  version,
  stopped,
  complain,
  now = Date.now,
  bounds = {},
}: RunGatewayDeps): Promise<void> {
  const ledger = new SpendingLedger();
  await using stack = new AsyncDisposableStack();
  // Opens the journal, which truncates an incomplete last line. That line was never acknowledged, so it does not count.
  const journal = stack.use(await openJournal(journalPath(paths), () => new Date(now())));
  for await (const entry of readJournal(journalPath(paths))) ledger.restore(entry);
  // Counts the maximum for each call that was open when an earlier run ended, because its usage is unknown.
  for (const { seq, worker, endpoint, model, reserve } of ledger.open) {
    ledger.add(worker, reserve);
    await journal.append({
      type: "closed",
      worker,
      endpoint,
      opened: seq,
      status: 0,
      model,
      spent: reserve,
      isEstimated: true,
      bytesOut: 0,
      firstByteMs: null,
      ms: 0,
      total: ledger.of(worker),
    });
  }
  const admitted = createAdmittedWorkers();
  const messageLine = (message: GatewayMessage): string => JSON.stringify(message);
  const logins = createSubscriptionLogins(now, (renewal) => listeners.broadcastQueued(messageLine(renewal)));
  const hello = (): string =>
    messageLine({
      type: "hello",
      version,
      lastSeq: journal.lastSeq,
      isAdmitted: admitted.isReady,
      spent: ledger.swarm,
      workers: ledger.workers,
    });
  const listeners = stack.use(
    await openJournalServer(controlSocketPath(paths), {
      journal,
      hello: () => [hello(), ...logins.renewals.map(messageLine)].join("\n"),
      onMessage(message, listener) {
        if (!isAdmission(message)) return;
        ledger.admit(message.payload);
        admitted.apply(message.payload);
        listener.sendQueued(hello());
      },
    }),
  );
  const refusals = stack.use(openRefusedRequestJournal(journal, complain));
  const deps = {
    admitted,
    ledger,
    journal,
    logins,
    refusals,
    now,
    complain,
    connect,
    limits: createRateLimitTracker(now),
    resolve: async (host: string) => (await lookup(host, { all: true })).map(({ address }) => address),
  };
  for (const address of addresses) stack.use(await openGatewayServer(deps, address, bounds));
  if (!stopped.aborted) await once(stopped, "abort");
}

/**
 * Whether a message from the host is an admission, which lists the workers that may use the gateway. Does not
 * check the list, because only the host can write to the control socket.
 */
function isAdmission(message: unknown): message is Admission {
  return typeof message === "object" && message !== null && "type" in message && message.type === "admission";
}

/**
 * Opens a TCP connection to an address. `connectMs` limits only the time to connect, not the duration of the
 * connection.
 */
async function connect(host: string, port: number): Promise<Socket> {
  const socket = connectTo({ host, port, allowHalfOpen: true, keepAlive: true });
  try {
    await once(socket, "connect", { signal: AbortSignal.timeout(connectMs) });
    return socket;
  } catch (error) {
    socket.destroy();
    throw error;
  }
}
