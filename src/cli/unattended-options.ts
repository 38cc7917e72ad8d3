import { invalidValue, usageError } from "../errors/errors.ts";
import { parseUnattendedEndTime } from "../swarm/schedule/rules/unattended-end.ts";
import type { CommandContext, CommandOptions } from "./flags/command.ts";

/** The user's options for a swarm that runs unattended, for example at night. */
export interface UnattendedOptions {
  /** The time at which swarm ends the work early; null if the user set no such time. */
  readonly until: { readonly at: Date; readonly text: string } | null;
  readonly thenMerge: boolean;
  /** The command that notifies the user; null if the user gave none. */
  readonly notify: string | null;
}

/** Parses the flags `--until`, `--then` and `--notify`. */
export function parseUnattendedOptions(
  { until, then, notify }: CommandOptions,
  output: Pick<CommandContext["output"], "json">,
): UnattendedOptions {
  if (then !== undefined && then !== "merge") throw invalidValue("--then", then, "merge");
  if (then !== undefined && output.json)
    throw usageError(
      "--then and --json exclude each other: they would print two JSON documents. Use `swarm merge --json` afterwards",
    );
  if (notify !== undefined && String(notify).trim() === "") throw invalidValue("--notify", "", "a command");
  return {
    until: until === undefined ? null : untilIn(String(until)),
    thenMerge: then === "merge",
    notify: notify === undefined ? null : String(notify),
  };
}

function untilIn(text: string): NonNullable<UnattendedOptions["until"]> {
  const at = parseUnattendedEndTime(text, new Date());
  if (at !== null) return { at, text };
  const expected = "a time of day such as 07:00, or a duration such as 6h, at most 24h";
  throw invalidValue("--until", text, expected);
}

const lookEveryMs = 30_000;

/**
 * Calls `onCome` when the wall clock reaches `moment`. Checks the clock regularly, because a single long
 * timer would stop while the machine sleeps.
 */
export function callAtTime(moment: Date, onCome: () => void): Disposable {
  let timer: NodeJS.Timeout | undefined;
  const look = (): void => {
    const leftMs = moment.getTime() - Date.now();
    if (leftMs <= 0) onCome();
    else timer = setTimeout(look, Math.min(leftMs, lookEveryMs));
  };
  look();
  return { [Symbol.dispose]: () => clearTimeout(timer) };
}
