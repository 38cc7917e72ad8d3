import type { AdapterPhase, Heartbeat, Hello } from "../src/contract/acp.ts";
import type { MessageEnvelope } from "./journal/journal.ts";
import { findAgentProcesses } from "./machine/agent-user.ts";
import type { ProcessCount } from "./machine/process-watch.ts";
import type { IdlenessDetector } from "./turn/idleness-detector.ts";

/**
 * The supervisor's current state. It supplies the envelope of every message to the host, and the content of
 * the messages that are not written to the journal.
 */
export class SupervisorStatus {
  readonly swarmId: string;
  readonly attempt: number;
  readonly version: string;
  phase: AdapterPhase = "waiting";
  /** The container's ID, which the host's task request contains. Empty before the request arrives. */
  containerId = "";
  storyId: string | null = null;
  agent: Hello["payload"]["agent"] = null;
  diskBytes = 0;
  /** Tracks how long the agent has been idle in the current turn; null between turns. */
  idleness: IdlenessDetector | null = null;
  /** The highest number of processes in the current turn or check so far; null before the first count. */
  processes: ProcessCount | null = null;
  /** Sends a heartbeat to the host at once, in addition to the regular heartbeats. */
  sendHeartbeat: () => void = () => {};
  /** How long, in milliseconds, the agent has to stop by itself before the adapter kills it. */
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
   * Stores the highest number of processes so far. If it has risen markedly, sends a heartbeat at once, since
   * too many processes may end the sandbox.
   */
  count(highest: ProcessCount, isMarkedRise: boolean): void {
    this.processes = highest;
    if (isMarkedRise) this.sendHeartbeat();
  }

  /** Returns a heartbeat message. Also measures the memory of the agent's processes for it. */
  async heartbeat(): Promise<string> {
    const { phase, storyId, diskBytes, processes } = this;
    const idleMs = this.idleness?.idleMs ?? 0;
    const rssBytes = (await findAgentProcesses()).reduce((sum, each) => sum + each.rssBytes, 0);
    const payload: Heartbeat["payload"] = {
      phase,
      ...(storyId !== null && { storyId }),
      idleMs,
      rssBytes,
      diskBytes,
      ...(processes && { processes }),
    };
    return JSON.stringify({ type: "heartbeat", ...this.envelope(), payload });
  }
}
