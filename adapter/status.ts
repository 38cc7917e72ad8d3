import type { AdapterPhase, Hello } from "../src/domain/generated/acp.ts";
import { heartbeatOf } from "./heartbeat.ts";
import type { Idleness } from "./idleness.ts";
import type { Envelope } from "./journal.ts";
import type { ProcessCount } from "./process-watch.ts";

/** What the supervisor is and does now, as it stands in the messages that are in no journal and in every envelope. */
export class Status {
  readonly swarmId: string;
  readonly attempt: number;
  readonly version: string;
  phase: AdapterPhase = "waiting";
  /** As the host told it; empty before. */
  containerId = "";
  storyId: string | null = null;
  agent: Hello["payload"]["agent"] = null;
  diskBytes = 0;
  /** The agent that is at work. */
  idleness: Idleness | null = null;
  /** The most that there were at once in the turn or check that is on. */
  processes: ProcessCount | null = null;
  /** Asks for a heartbeat before its time. */
  beat: () => void = () => {};
  /** How long an agent may take to stop. */
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

  /** A crowd is told of at once: it may end the sandbox. */
  count(highest: ProcessCount, isCrowd: boolean): void {
    this.processes = highest;
    if (isCrowd) this.beat();
  }

  async heartbeat(): Promise<string> {
    const { phase, storyId, diskBytes, processes } = this;
    const idleMs = this.idleness?.idleMs ?? 0;
    const payload = await heartbeatOf({ phase, storyId, diskBytes, idleMs, processes });
    return JSON.stringify({ type: "heartbeat", ...this.envelope(), payload });
  }
}
