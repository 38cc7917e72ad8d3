import type { AdapterPhase, Hello } from "../src/domain/generated/acp.ts";
import { heartbeatOf } from "./heartbeat.ts";
import type { Idleness } from "./idleness.ts";
import type { Envelope } from "./journal.ts";

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

  async heartbeat(): Promise<string> {
    const { phase, storyId, diskBytes } = this;
    const payload = await heartbeatOf({ phase, storyId, diskBytes, idleMs: this.idleness?.idleMs ?? 0 });
    return JSON.stringify({ type: "heartbeat", ...this.envelope(), payload });
  }
}
