const unitMs: Readonly<Record<string, number>> = { ms: 1, s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 };
const unitBytes: Readonly<Record<string, number>> = { k: 1024, m: 1024 ** 2, g: 1024 ** 3, t: 1024 ** 4 };

/**
 * Parses a duration such as `90s`, `30m` or `6h` to milliseconds; returns undefined if the text is no duration.
 */
export function parseDurationMs(text: string): number | undefined {
  return parseAmount(text, unitMs);
}

/** Parses a size such as `512m` or `4g` to bytes; returns undefined if the text is no size. */
export function parseSizeBytes(text: string): number | undefined {
  return parseAmount(text, unitBytes);
}

/** Formats a number of bytes in binary units with at most one decimal, such as `1.5 GiB`. */
export function formatBytes(bytes: number): string {
  const units = ["B", "KiB", "MiB", "GiB", "TiB"];
  const step = Math.min(units.length - 1, bytes < 1 ? 0 : Math.floor(Math.log2(bytes) / 10));
  const amount = bytes / 1024 ** step;
  return `${Number(amount.toFixed(step === 0 ? 0 : 1))} ${units[step]}`;
}

/** Formats a duration in fitting units, such as `350 ms`, `4.2 s` or `3 min 20 s`. */
export function formatDuration(ms: number): string {
  if (ms < 1000) return `${Math.round(ms)} ms`;
  if (ms < 60_000) return `${Number((ms / 1000).toFixed(1))} s`;
  const seconds = Math.round(ms / 1000);
  const [hours, minutes] = [Math.floor(seconds / 3600), Math.floor((seconds % 3600) / 60)];
  return hours > 0 ? `${hours} h ${minutes} min` : `${minutes} min ${seconds % 60} s`;
}

function parseAmount(text: string, units: Readonly<Record<string, number>>): number | undefined {
  const [, digits, unit] = /^(\d+)([a-z]+)$/.exec(text) ?? [];
  const factor = unit === undefined ? undefined : units[unit];
  return digits === undefined || factor === undefined ? undefined : Number(digits) * factor;
}
