import { adapter } from "./adapter-speed.ts";
import type { Bench } from "./bench.ts";
import { code } from "./code-in-out.ts";
import { commands } from "./command-start.ts";
import { ending } from "./ending.ts";
import { fanOut } from "./fan-out.ts";
import { gateway } from "./gateway-speed.ts";
import { images } from "./image-decision.ts";
import { manyWorkers } from "./many-workers.ts";
import { messages } from "./messages.ts";
import { ready } from "./ready.ts";
import { reconcileBench } from "./reconcile.ts";
import { sandboxes } from "./sandbox-start.ts";
import { state } from "./state-updates.ts";
import { status } from "./status-beside-engine.ts";
import { wholeSwarm } from "./whole-swarm.ts";

/** Every bench by its name on the command line, in the order of the report. */
export const benches: Readonly<Record<string, Bench>> = {
  ...{ commands, status, state },
  ...{
    reconcile: reconcileBench,
    ready,
    "fan-out": fanOut,
    ending,
    sandboxes,
    code,
    images,
    adapter,
    messages,
    gateway,
    owner: manyWorkers,
    swarm: wholeSwarm,
  },
};
