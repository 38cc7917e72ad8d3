import { showDuration } from "../domain/duration.ts";
import type { LineStatus } from "../ports/conversations.ts";
import type { Timing } from "./timing.ts";

/** Knows when an adapter was last heard, and says how the line is whenever that changes. */
export interface LineWatch {
  /** The adapter said something of its own accord, and maybe how long its agent has been idle. */
  heard(idleMs: number | null): void;
  /** It answered a new connection, which one that is stuck may do as well. */
  joined(): void;
  lost(why: string): void;
  paused(): void;
  /** So long it has said nothing of its own accord, without a reason for that. */
  silentMs(): number;
  /** Looks until the signal ends it; rejects never. */
  watch(signal: AbortSignal): Promise<void>;
}

export interface LineWatchDeps {
  readonly timing: Timing;
  readonly silenceMs: number;
  readonly idleMs: number;
  /** Whether silence has its good reason. */
  readonly isPaused: (signal: AbortSignal) => Promise<boolean>;
  /** Whether what was said waits because nobody here takes it. */
  readonly isBusy: () => boolean;
  readonly tell: (status: LineStatus, why: string) => void;
  /** A connection may be dead without anybody having noticed: it is worth a new one. */
  readonly onSilence: () => void;
}

export function watchLine({
  timing,
  silenceMs,
  idleMs: longestIdleMs,
  isPaused,
  isBusy,
  tell,
  onSilence,
}: LineWatchDeps): LineWatch {
  let heardAt = timing.now();
  /** Since then it is given time to be heard. */
  let since = heardAt;
  let status: LineStatus | null = null;
  let hasFallenSilent = false;
  let isIdle = false;
  const say = (now: LineStatus, why: string): void => {
    if (now === status) return;
    status = now;
    tell(now, why);
  };
  const sayHeard = (why: string): void => {
    hasFallenSilent = false;
    if (isIdle) say("stalled", `its agent has done nothing for more than ${showDuration(longestIdleMs)}`);
    else say("live", why);
  };
  const isSilent = (): boolean => timing.now() - since >= silenceMs;
  const hear = (): void => {
    heardAt = timing.now();
    since = heardAt;
  };

  return {
    heard(idleMs) {
      hear();
      // Only heartbeats know: other messages may be the supervisor's own.
      if (idleMs !== null) isIdle = idleMs > longestIdleMs;
      sayHeard("it is heard");
    },

    joined() {
      since = timing.now();
      if (!hasFallenSilent) sayHeard("it is connected");
    },

    lost(why) {
      if (!hasFallenSilent) say("lost", why);
    },

    paused() {
      hear();
      hasFallenSilent = false;
      say("paused", "its container is paused");
    },

    silentMs: () => timing.now() - heardAt,

    async watch(signal) {
      while (!signal.aborted) {
        await timing.wait(Math.max(1, since + silenceMs - timing.now()), signal).catch(() => {});
        if (isBusy()) hear();
        if (signal.aborted || !isSilent()) continue;
        const paused = await isPaused(signal);
        if (signal.aborted || !isSilent()) continue;
        if (paused) this.paused();
        else {
          since = timing.now();
          hasFallenSilent = true;
          say("stalled", `nothing was heard for ${Math.round(silenceMs / 1000)} s`);
          onSilence();
        }
      }
    },
  };
}
