import type { AdapterMessage } from "../../protocol/rules/protocol-messages.ts";
import type { SwarmEvent } from "../../swarm/worker/owner-services.ts";
import { sanitizeText } from "../../text/sanitize-text.ts";
import { describeEventFacts } from "./describe-event.ts";

/**
 * Describes a message from a worker's adapter in one line. Returns null for a message that swarm does not
 * show to the user.
 */
export function describeWorkerMessage(slug: string, message: AdapterMessage): string | null {
  switch (message.type) {
    case "progress-update": {
      const { storyId, status, output, reason } = message.payload;
      const why = reason ? `${reason.code}: ${reason.message}` : output;
      return `${slug}  ${storyId} ${status.replace("_", " ")}${why ? `: ${sanitizeText(why)}` : ""}`;
    }
    case "activity":
      return `${slug}  ${message.payload.storyId} ${sanitizeText(message.payload.summary)}`;
    default:
      return null;
  }
}

/**
 * Describes an event from the swarm's owner in one line. Returns null for an event that only the event log
 * needs.
 */
export function describeOwnerEvent(event: SwarmEvent): string | null {
  if (isQuiet(event)) return null;
  const { worker, ...facts } = event;
  const words = describeEventFacts(facts);
  return worker === undefined ? words : `${sanitizeText(worker)}  ${words}`;
}

/** Returns whether an event is too frequent or too unimportant to show to the user. */
function isQuiet({ event, status }: SwarmEvent): boolean {
  if (event === "called" || event === "reached") return true;
  if (event === "gateway") return status === "started" || status === "removed";
  return event === "line" && status === "live";
}
