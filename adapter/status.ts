import type { AdapterPhase, Hello } from "../src/domain/generated/acp.ts";
import { heartbeatOf } from "./heartbeat.ts";
import type { Idleness } from "./idleness.ts";
import type { Envelope } from "./journal.ts";
import type { ProcessCount } from "./process-watch.ts";

/** The supervisor's current state, for every envelope and for the messages that are in no journal. */
export class Status {
  readonly swarmId: string;
  readonly attempt: number;
  readonly version: string;
  phase: AdapterPhase = "waiting";
  /** The container's ID from the host's request; empty before. */
  containerId = "";
  storyId: string | null = null;
  agent: Hello["payload"]["agent"] = null;
  diskBytes = 0;
  /** The idleness of the agent in the current turn; null between turns. */
  idleness: Idleness | null = null;
  /** The highest process count in the current turn or check. */
  processes: ProcessCount | null = null;
  /** Sends a heartbeat at once, outside of its interval. */
  sendHeartbeat: () => void = () => {};
  /** The grace period for an agent to stop. */
  graceMs = 5_000;

  constructor(env: Readonly<Record<string, string>>, version: string) {
    this.swarmId = env["AIMI_SWARM_ID"] ?? "";
    this.attempt = Number(env["AIMI_ATTEMPT"] ?? 1);
    this.version = version;
  }

  envelope(): Envelope {
    const { swarmId, attempt, containerId } = this;
    return { timestamp: new Date().toISOString(), swarmId, attempt, containerId };
  }

  hello(lastSeq: number): string {
    const { version: adapterVersion, phase, agent } = this;
    const payload = { protocol: "acp/1", adapterVersion, phase, lastSeq, agent };
    return JSON.stringify({ type: "hello", ...this.envelope(), payload });
  }

  /** Reports a marked rise at once, since too many processes may end the sandbox. */
  count(highest: ProcessCount, isMarkedRise: boolean): void {
    this.processes = highest;
    if (isMarkedRise) this.sendHeartbeat();
  }

  async heartbeat(): Promise<string> {
    const { phase, storyId, diskBytes, processes } = this;
    const idleMs = this.idleness?.idleMs ?? 0;
    const payload = await heartbeatOf({ phase, storyId, diskBytes, idleMs, processes });
    return JSON.stringify({ type: "heartbeat", ...this.envelope(), payload });
  }
}
