import { showDuration } from "../domain/duration.ts";
import type { ConnectionStatus } from "../ports/conversations.ts";
import type { Timing } from "./timing.ts";

/** Tracks when an adapter last sent a message, and reports the status of the connection whenever it changes. */
export interface LineWatch {
  /** The adapter sent a message other than a hello; a heartbeat also says how long the agent has been idle. */
  messageReceived(idleMs: number | null): void;
  /** The adapter sent its hello on a new connection, which a stuck adapter may do as well. */
  joined(): void;
  lost(why: string): void;
  paused(): void;
  /**
   * Time since its last message other than a hello; time while it was paused, or while the host was busy,
   * does not count.
   */
  silentMs(): number;
  /** Checks for silence until the signal is aborted; never rejects. */
  watch(signal: AbortSignal): Promise<void>;
}

export interface LineWatchDeps {
  readonly timing: Timing;
  readonly silenceMs: number;
  readonly idleMs: number;
  /** Whether the container is paused, which explains the silence. */
  readonly isPaused: (signal: AbortSignal) => Promise<boolean>;
  /** Whether the host's inbox is full, so that messages wait unread. */
  readonly isBusy: () => boolean;
  readonly onStatus: (status: ConnectionStatus, why: string) => void;
  /** Called at a silence: the connection may be dead without an error, so the host opens a new one. */
  readonly onSilence: () => void;
}

export function watchLine({
  timing,
  silenceMs,
  idleMs: maxIdleMs,
  isPaused,
  isBusy,
  onStatus,
  onSilence,
}: LineWatchDeps): LineWatch {
  let lastSignAt = timing.now();
  /** Start of the present period of silence. */
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
    if (isIdle) report("stalled", `its agent has done nothing for more than ${showDuration(maxIdleMs)}`);
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
      // Only a heartbeat carries the idle time: other messages may be the supervisor's own.
      if (idleMs !== null) isIdle = idleMs > maxIdleMs;
      reportAlive("it sends messages");
    },

    joined() {
      since = timing.now();
      if (!hasFallenSilent) reportAlive("it is connected");
    },

    lost(why) {
      if (!hasFallenSilent) report("lost", why);
    },

    paused() {
      noteSign();
      hasFallenSilent = false;
      report("paused", "its container is paused");
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
          report("stalled", `it sent nothing for ${Math.round(silenceMs / 1000)} s`);
          onSilence();
        }
      }
    },
  };
}
