import { dirname } from "node:path";
import type { KeptEvent } from "../contract/event.ts";
import { resolveSwarmFile } from "../machine/path-containment.ts";
import type { Project } from "../project/project.ts";
import { findSwarmState, type StateAccess } from "../state/find-state.ts";
import { nullIfStateInvalid } from "../state/parse-state.ts";
import { eventReader } from "./event-reader.ts";
import { createEventFilter, type EventSelection } from "./rules/event-filter.ts";

/**
 * Yields the events from the event log, the oldest first. With `follow`, continues with new events until
 * the signal aborts.
 */
export async function* readEvents(
  project: StateAccess & Pick<Project, "host">,
  { follow, ...selection }: EventSelection & { readonly follow: boolean },
  signal: AbortSignal,
): AsyncGenerator<KeptEvent> {
  const { root } = await project.repository();
  const reader = eventReader(dirname(await resolveSwarmFile(root, "events.ndjson")));
  // Events stay readable even if the state is invalid.
  const state = await findSwarmState(project).catch(nullIfStateInvalid);
  const isSelected = createEventFilter(state, selection, project.host.clock());
  for await (const event of follow ? reader.follow(signal) : reader.read())
    if (isSelected(event)) yield event;
}
