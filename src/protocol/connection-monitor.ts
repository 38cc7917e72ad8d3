import { formatDuration } from "../text/duration-and-size.ts";
import type { AdapterConnectionStatus } from "./adapter-conversation.ts";
import type { ClockAndRandom } from "./clock-and-random.ts";

/**
 * Tracks when an adapter last sent a message, and reports when the adapter stalls, disconnects, is paused or
 * works again.
 */
export interface ConnectionMonitor {
  /**
   * Records that the adapter sent a message other than a hello. `idleMs` is the agent's idle time if the
   * message is a heartbeat, otherwise null.
   */
  messageReceived(idleMs: number | null): void;
  /**
   * Records that the adapter sent its hello on a new connection. A hello alone does not show that the adapter
   * works, because even a stuck adapter may send one.
   */
  connected(): void;
  disconnected(why: string): void;
  paused(): void;
  /**
   * Returns the milliseconds since the adapter's last message other than a hello. A paused container or a
   * full inbox restarts the count.
   */
  silentMs(): number;
  /**
   * Checks regularly, until the signal aborts, whether the adapter has stopped sending messages. Never
   * rejects.
   */
  watch(signal: AbortSignal): Promise<void>;
}

export interface ConnectionMonitorDeps {
  readonly timing: ClockAndRandom;
  readonly silenceMs: number;
  readonly idleMs: number;
  /**
   * Returns whether the adapter's container is paused. While it is paused, the adapter cannot send messages.
   */
  readonly isPaused: (signal: AbortSignal) => Promise<boolean>;
  /** Returns whether the host's inbox is full, so that the adapter's messages wait unread. */
  readonly isBusy: () => boolean;
  readonly onStatus: (status: AdapterConnectionStatus, why: string) => void;
  /**
   * Called when the adapter has sent nothing for `silenceMs`. The host then opens a new connection, because
   * the old one may be dead without an error.
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
  /**
   * When the adapter's present silence began, as a `timing.now()` value. A new connection or a report of
   * silence restarts the period.
   */
  let since = lastSignAt;
  let status: AdapterConnectionStatus | null = null;
  let hasFallenSilent = false;
  let isIdle = false;
  const report = (now: AdapterConnectionStatus, why: string): void => {
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
