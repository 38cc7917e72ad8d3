import { dirname } from "node:path";
import { messageOf } from "../errors/errors.ts";
import { type EventLog, eventLog } from "../events/event-log.ts";
import { resolveSwarmFile } from "../machine/path-containment.ts";
import type { Project } from "../project/project.ts";

/** Opens the event log for the events of one swarm. If the log cannot be written, only tells the user. */
export async function openSwarmEvents(
  { repository, host: { clock } }: Pick<Project, "host" | "repository">,
  swarmId: string,
  onStep: (step: string) => void,
): Promise<EventLog> {
  const folder = dirname(await resolveSwarmFile((await repository()).root, "events.ndjson"));
  const onFailure = (error: unknown): void => onStep(`The event log cannot be written: ${messageOf(error)}`);
  return eventLog({ folder, swarmId, clock, onFailure });
}
