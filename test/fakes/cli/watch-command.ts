import { spawn } from "node:child_process";
import { readFileSync } from "node:fs";
import type { Span } from "../engine/neighbour.ts";
import { type SwarmPlace, swarmEnv } from "../swarm/swarms.ts";
import { type Finished, swarmProgram } from "./swarm-command.ts";

/** A process of ours, and the most memory that it had by then. */
export interface Watched extends Finished {
  readonly span: Span;
  /** Its peak when it first said that it had begun; null when it never did. */
  readonly startBytes: number | null;
  peakBytes(until?: number): number;
}

const lookMs = 25;

/** Runs `swarm …` to its end, a kill after a time included, and looks at its memory all along. */
export async function watched(
  place: SwarmPlace,
  { begins, withinMs }: { readonly begins: string | null; readonly withinMs: number },
  ...words: string[]
): Promise<Watched> {
  const from = Date.now();
  const child = spawn(swarmProgram, words, {
    cwd: place.repository,
    env: { ...process.env, NO_COLOR: "1", CI: "", ...swarmEnv(place) },
    stdio: ["ignore", "pipe", "pipe"],
    signal: AbortSignal.timeout(withinMs),
    killSignal: "SIGKILL",
  });
  // A kill is told as an error first; what counts is its end.
  child.on("error", () => {});
  const { promise: closed, resolve } = Promise.withResolvers<number | null>();
  child.once("close", resolve);
  const peaks: { readonly at: number; readonly bytes: number }[] = [];
  const look = (): number => {
    const bytes = peakOf(child.pid ?? 0);
    if (bytes > (peaks.at(-1)?.bytes ?? 0)) peaks.push({ at: Date.now(), bytes });
    return bytes;
  };
  const timer = setInterval(look, lookMs);
  let startBytes: number | null = null;
  const said = { stdout: "", stderr: "" };
  for (const stream of ["stdout", "stderr"] as const)
    child[stream].on("data", (piece: Buffer) => {
      said[stream] += String(piece);
      if (begins !== null && said[stream].includes(begins)) startBytes ??= look();
    });
  const exit = await closed;
  clearInterval(timer);
  const peakBytes = (until = Number.POSITIVE_INFINITY): number =>
    peaks.findLast(({ at }) => at <= until)?.bytes ?? 0;
  return { exit, ...said, span: { from, to: Date.now() }, startBytes, peakBytes };
}

/** 0 once it has ended. */
function peakOf(pid: number): number {
  try {
    return Number(/VmHWM:\s+(\d+) kB/.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1] ?? 0) * 1024;
  } catch {
    return 0;
  }
}
