import type { Heartbeat } from "../src/contract/acp.ts";
import { findAgentProcesses } from "./machine/agent-user.ts";
import type { ProcessCount } from "./machine/process-watch.ts";

/**
 * What a heartbeat reports: the supervisor's phase, the current story, and the resources that the agent uses.
 */
export interface HeartbeatInput {
  readonly phase: Heartbeat["payload"]["phase"];
  readonly storyId: string | null;
  readonly idleMs: number;
  readonly diskBytes: number;
  readonly processes: ProcessCount | null;
}

/**
 * Builds the payload of a heartbeat message. Also measures the memory of the agent's processes for the
 * payload.
 */
export async function createHeartbeat({
  phase,
  storyId,
  idleMs,
  diskBytes,
  processes: processCount,
}: HeartbeatInput): Promise<Heartbeat["payload"]> {
  const processes = await findAgentProcesses();
  const rssBytes = processes.reduce((sum, each) => sum + each.rssBytes, 0);
  return {
    phase,
    ...(storyId === null ? {} : { storyId }),
    idleMs,
    rssBytes,
    diskBytes,
    ...(processCount && { processes: processCount }),
  };
}
