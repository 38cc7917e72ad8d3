import { formatDuration } from "../domain/duration.ts";
import type { ConnectionStatus } from "../ports/conversations.ts";
import type { ClockAndRandom } from "./timing.ts";

/** Tracks when an adapter last sent a message, and reports each change of the connection's status. */
export interface ConnectionMonitor {
  /**
   * Notes that the adapter sent a message other than a hello. `idleMs` is the agent's idle time in a
   * heartbeat, and null in any other message.
   */
  messageReceived(idleMs: number | null): void;
  /**
   * Notes that the adapter sent its hello on a new connection. A hello does not prove that the adapter works,
   * because a stuck adapter may also send a hello.
   */
  connected(): void;
  disconnected(why: string): void;
  paused(): void;
  /**
   * Returns the milliseconds since the adapter's last message other than a hello. Time while the container
   * was paused or the host was busy does not count.
   */
  silentMs(): number;
  /** Checks for silence until the signal is aborted. Never rejects. */
  watch(signal: AbortSignal): Promise<void>;
}

export interface ConnectionMonitorDeps {
  readonly timing: ClockAndRandom;
  readonly silenceMs: number;
  readonly idleMs: number;
  /** Returns whether the container is paused. In a paused container, the adapter sends nothing. */
  readonly isPaused: (signal: AbortSignal) => Promise<boolean>;
  /** Returns whether the host's inbox is full, so that messages wait unread. */
  readonly isBusy: () => boolean;
  readonly onStatus: (status: ConnectionStatus, why: string) => void;
  /**
   * Called when the adapter has fallen silent. The host then opens a new connection, because the old
   * connection may be dead without an error.
   */
  readonly onSilence: () => void;
}

export function createConnectionMonitor({
  timing,
  silenceMs,
  idleMs: maxIdleMs,
  isPaused,
  isBusy,
  onStatus,
  onSilence,
}: ConnectionMonitorDeps): ConnectionMonitor {
  let lastSignAt = timing.now();
  /** When the present period of silence began, by `timing.now()`, in milliseconds. */
  let since = lastSignAt;
  let status: ConnectionStatus | null = null;
  let hasFallenSilent = false;
  let isIdle = false;
  const report = (now: ConnectionStatus, why: string): void => {
    if (now === status) return;
    status = now;
    onStatus(now, why);
  };
  const reportAlive = (why: string): void => {
    hasFallenSilent = false;
    if (isIdle)
      report("stalled", `the worker's agent has done nothing for more than ${formatDuration(maxIdleMs)}`);
    else report("live", why);
  };
  const isSilent = (): boolean => timing.now() - since >= silenceMs;
  const noteSign = (): void => {
    lastSignAt = timing.now();
    since = lastSignAt;
  };

  return {
    messageReceived(idleMs) {
      noteSign();
      // Only a heartbeat carries the agent's idle time. Other messages may come from the supervisor instead
      // of the agent.
      if (idleMs !== null) isIdle = idleMs > maxIdleMs;
      reportAlive("the adapter sends messages");
    },

    connected() {
      since = timing.now();
      if (!hasFallenSilent) reportAlive("the adapter is connected");
    },

    disconnected(why) {
      if (!hasFallenSilent) report("lost", why);
    },

    paused() {
      noteSign();
      hasFallenSilent = false;
      report("paused", "the worker's container is paused");
    },

    silentMs: () => timing.now() - lastSignAt,

    async watch(signal) {
      while (!signal.aborted) {
        await timing.wait(Math.max(1, since + silenceMs - timing.now()), signal).catch(() => {});
        if (isBusy()) noteSign();
        if (signal.aborted || !isSilent()) continue;
        const paused = await isPaused(signal);
        if (signal.aborted || !isSilent()) continue;
        if (paused) this.paused();
        else {
          since = timing.now();
          hasFallenSilent = true;
          report("stalled", `the adapter sent nothing for ${Math.round(silenceMs / 1000)} s`);
          onSilence();
        }
      }
    },
  };
}
