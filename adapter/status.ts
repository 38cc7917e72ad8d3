import type { AdapterPhase, Hello } from "../src/domain/generated/acp.ts";
import { createHeartbeat } from "./heartbeat.ts";
import type { IdlenessDetector } from "./idleness.ts";
import type { MessageEnvelope } from "./journal.ts";
import type { ProcessCount } from "./process-watch.ts";

/**
 * The supervisor's current state. It supplies the envelope of each message, and the content of the messages
 * that are not journalled.
 */
export class SupervisorStatus {
  readonly swarmId: string;
  readonly attempt: number;
  readonly version: string;
  phase: AdapterPhase = "waiting";
  /** The container's ID from the host's request; empty before that request. */
  containerId = "";
  storyId: string | null = null;
  agent: Hello["payload"]["agent"] = null;
  diskBytes = 0;
  /** Tracks how long the agent has been idle in the current turn; null between turns. */
  idleness: IdlenessDetector | null = null;
  /** The highest number of processes in the current turn or check; null before the first count. */
  processes: ProcessCount | null = null;
  /** Sends a heartbeat at once, in addition to those at the regular interval. */
  sendHeartbeat: () => void = () => {};
  /** The grace period between the request to stop the agent and its kill, in milliseconds. */
  graceMs = 5_000;

  constructor(env: Readonly<Record<string, string>>, version: string) {
    this.swarmId = env["AIMI_SWARM_ID"] ?? "";
    this.attempt = Number(env["AIMI_ATTEMPT"] ?? 1);
    this.version = version;
  }

  envelope(): MessageEnvelope {
    const { swarmId, attempt, containerId } = this;
    return { timestamp: new Date().toISOString(), swarmId, attempt, containerId };
  }

  hello(lastSeq: number): string {
    const { version: adapterVersion, phase, agent } = this;
    const payload = { protocol: "acp/1", adapterVersion, phase, lastSeq, agent };
    return JSON.stringify({ type: "hello", ...this.envelope(), payload });
  }

  /**
   * Records the highest number of processes. Sends a marked rise to the host at once, since too many processes may
   * end the sandbox.
   */
  count(highest: ProcessCount, isMarkedRise: boolean): void {
    this.processes = highest;
    if (isMarkedRise) this.sendHeartbeat();
  }

  async heartbeat(): Promise<string> {
    const { phase, storyId, diskBytes, processes } = this;
    const idleMs = this.idleness?.idleMs ?? 0;
    const payload = await createHeartbeat({ phase, storyId, diskBytes, idleMs, processes });
    return JSON.stringify({ type: "heartbeat", ...this.envelope(), payload });
  }
}
