import { cpus, loadavg } from "node:os";
import { setTimeout } from "node:timers/promises";

const enough = 0.85;
const maxWaitMs = 30_000;

/** Waits a while for a quiet machine, and says how quiet it was. A busy one widens intervals; ratios hold within a run all the same. */
export async function idleGate(): Promise<string> {
  const until = performance.now() + maxWaitMs;
  let idle = 0;
  do {
    idle = await idleShare();
  } while (idle < enough && performance.now() < until);
  const [load = 0] = loadavg();
  const verdict = idle >= enough ? "quiet" : "BUSY";
  return `The machine is ${verdict}: ${Math.round(idle * 100)} % idle over a second, load ${load.toFixed(2)}, ${cpus().length} CPUs, Node ${process.version}.`;
}

async function idleShare(): Promise<number> {
  const before = times();
  await setTimeout(1_000);
  const after = times();
  return (after.idle - before.idle) / Math.max(1, after.all - before.all);
}

function times(): { readonly idle: number; readonly all: number } {
  let [idle, all] = [0, 0];
  for (const { times: own } of cpus()) {
    idle += own.idle;
    all += own.user + own.nice + own.sys + own.irq + own.idle;
  }
  return { idle, all };
}
