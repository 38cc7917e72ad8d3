import { parseDurationMs } from "../../../text/duration-and-size.ts";

const maxMs = 24 * 3_600_000;

/**
 * Returns the time at which unattended work ends, at most 24 hours from now. The text is a time of day on
 * this machine's clock, such as `07:00`, or a duration such as `6h`. Returns null for any other text.
 */
export function parseUnattendedEndTime(text: string, now: Date): Date | null {
  const ms = parseDurationMs(text);
  if (ms !== undefined) return ms > 0 && ms <= maxMs ? new Date(now.getTime() + ms) : null;
  const [, hours, minutes] = /^([01]?\d|2[0-3]):([0-5]\d)$/.exec(text) ?? [];
  if (hours === undefined || minutes === undefined) return null;
  const end = new Date(now);
  end.setHours(Number(hours), Number(minutes), 0, 0);
  if (end <= now) end.setDate(end.getDate() + 1);
  return end;
}
