import { setTimeout as delay } from "node:timers/promises";

/** Looks again and again until there is something; what never comes is an error. */
export async function eventually<Found>(
  what: string,
  look: () => Promise<Found | null>,
  withinMs = 10_000,
): Promise<Found> {
  for (const end = performance.now() + withinMs; ; await delay(20)) {
    const found = await look();
    if (found !== null) return found;
    if (performance.now() > end) throw new Error(`${what}: not within ${withinMs} ms`);
  }
}
