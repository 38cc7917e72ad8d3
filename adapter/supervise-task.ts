import { mkdir } from "node:fs/promises";
import type { Cancel } from "../src/contract/acp.ts";
import { gatewayPort } from "../src/egress/gateway-port.ts";
import { openJournalServer } from "../src/wire/journal-server.ts";
import { openGatewayProxy } from "./gateway-proxy.ts";
import { openHostInbox } from "./host-inbox.ts";
import { readEarlierAdapterRunResults } from "./journal/earlier-runs.ts";
import { type Journal, openJournal, readJournal } from "./journal/journal.ts";
import {
  readAcceptedTaskRequest,
  readRecoveryNotes,
  writeAcceptedTaskRequest,
} from "./journal/recovery-notes.ts";
import { serializeCanonicalTaskRequest } from "./journal/task-request.ts";
import { FatalWorkerError, TaskLimitReached } from "./machine/fatal-worker-error.ts";
import { PauseAwareClock } from "./machine/pause-aware-clock.ts";
import { ProgramResultUnknownError } from "./machine/program-end.ts";
import { outFolderPath, type SandboxPaths, supervisorSocketPath } from "./machine/sandbox-paths.ts";
import { runTask } from "./run-task.ts";
import { SupervisorStatus } from "./supervisor-status.ts";

export interface SuperviseTaskDeps {
  readonly paths: SandboxPaths;
  /** The environment variables with which the container was created. */
  readonly env: Readonly<Record<string, string>>;
  readonly version: string;
  /** Aborts when the container engine sends the container a request to stop. */
  readonly stopped: AbortSignal;
  readonly complain: (line: string) => void;
}

const cancelledCode = 143;
/** The exit code `EX_TEMPFAIL` of sysexits.h. It tells the host that a retry may succeed. */
const cutOffCode = 75;
const tickMs = 200;
const heartbeatMs = 5_000;
const acknowledgeMs = 10_000;
const engineGraceMs = 2_000;

/**
 * Runs one task, from the arrival of the host's task request until the host has acknowledged the last
 * message. Returns the container's exit code.
 */
export async function superviseTask({
  paths,
  env,
  version,
  stopped,
  complain,
}: SuperviseTaskDeps): Promise<number> {
  await mkdir(outFolderPath(paths), { recursive: true, mode: 0o700 });
  const acceptedRequest = await readAcceptedTaskRequest(paths);
  const notes = await readRecoveryNotes(paths);
  const clock = new PauseAwareClock();
  const status = new SupervisorStatus(env, version);
  const halt = new AbortController();
  const cancelled = new AbortController();
  // Aborts both signals: a limit may have aborted `halt` before, and only `cancelled` ends the work that follows a limit.
  const cancel = (cause: Cancel["payload"]): void => {
    cancelled.abort(cause);
    halt.abort(cause);
  };

  await using journal = await openJournal(paths, {
    envelope: () => status.envelope(),
    onFull: () =>
      halt.abort(new TaskLimitReached("DISK_FULL", "the disk of the sandbox's volume is full", "nothing")),
  });
  // Reads the journal after `openJournal`, which removes an incomplete last message that no listener got.
  const history = await readEarlierAdapterRunResults(readJournal(paths));
  const inbox = openHostInbox({ status, journal, acceptedRequest, clock, complain, onCancel: cancel });
  await using listeners = await openJournalServer(supervisorSocketPath(paths), {
    journal,
    hello: () => status.hello(journal.lastSeq),
    onMessage: inbox.receive,
  });
  const socketFile = env["AIMI_DOOR"];
  await using _proxy =
    socketFile === undefined ? null : await openGatewayProxy({ port: gatewayPort, socketFile }, complain);
  stopped.addEventListener("abort", () => {
    status.graceMs = Math.min(status.graceMs, engineGraceMs);
    cancel({ reason: "engine", graceMs: engineGraceMs });
  });
  using _ticks = setInterval(() => clock.tick(tickMs), tickMs);
  status.sendHeartbeat = () =>
    void status.heartbeat().then(
      (line) => listeners.broadcast(line),
      (error: unknown) => complain(`the adapter could not send a heartbeat: ${String(error)}`),
    );
  using _heartbeats = setInterval(status.sendHeartbeat, heartbeatMs);

  const code = await work();
  status.phase = "finished";
  if (listeners.count > 0) await inbox.waitForAck(journal.lastSeq, AbortSignal.timeout(acknowledgeMs));
  return code;

  async function work(): Promise<number> {
    try {
      const request = await inbox.waitForRequest(halt.signal);
      if (request === null) return cancelledCode;
      if (acceptedRequest === null)
        await writeAcceptedTaskRequest(paths, serializeCanonicalTaskRequest(request));
      // If the attempt has already ended, only sends its journal to the host again.
      if (history.exitCode !== null) return history.exitCode;
      const { code: result, completion } = await runTask(
        { paths, clock, status, journal, history, notes, env, credentials: inbox.credentials },
        { request, halt, cancelled: cancelled.signal },
      );
      await journal.append({ type: "completion", payload: completion });
      return result;
    } catch (error) {
      return await giveUp(journal, error, complain);
    }
  }
}

async function giveUp(journal: Journal, error: unknown, complain: (line: string) => void): Promise<number> {
  if (error instanceof ProgramResultUnknownError) {
    // Journals no `error` or `completion` message, so that the host restarts the container and the work continues.
    complain(error.message);
    return cutOffCode;
  }
  const isExpected = error instanceof FatalWorkerError || error instanceof TaskLimitReached;
  const { code, message } = isExpected
    ? error
    : { code: isFull(error) ? "DISK_FULL" : "UNKNOWN_ERROR", message: String(error) };
  if (!isExpected) complain(error instanceof Error ? (error.stack ?? error.message) : String(error));
  await journal
    .append({ type: "error", payload: { code, message: message.slice(0, 2_000) } })
    .catch((failure: unknown) =>
      complain(`the adapter could not write the last message to its journal: ${String(failure)}`),
    );
  return 2;
}

function isFull(error: unknown): boolean {
  return error instanceof Error && "code" in error && (error.code === "ENOSPC" || error.code === "EDQUOT");
}
