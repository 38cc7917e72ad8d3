import type { AdapterMessage } from "../domain/acp-messages.ts";
import { cleanText } from "../domain/clean-text.ts";
import type { SwarmEvent } from "../swarm/swarm-deps.ts";
import { eventWords } from "./event-words.ts";

/** What a worker says, in a line for people; null for what nobody needs to see. */
export function describeMessage(slug: string, message: AdapterMessage): string | null {
  switch (message.type) {
    case "progress-update": {
      const { storyId, status, output, reason } = message.payload;
      const why = reason ? `${reason.code}: ${reason.message}` : output;
      return `${slug}  ${storyId} ${status.replace("_", " ")}${why ? `: ${cleanText(why)}` : ""}`;
    }
    case "activity":
      return `${slug}  ${message.payload.storyId} ${cleanText(message.payload.summary)}`;
    default:
      return null;
  }
}

/** What the owner decided or did, in a line; null for what only a reader of the event log needs to know. */
export function describeEvent(event: SwarmEvent): string | null {
  if (isQuiet(event)) return null;
  const { worker, ...facts } = event;
  const words = eventWords(facts);
  return worker === undefined ? words : `${cleanText(worker)}  ${words}`;
}

/** What there may be thousands of, and what goes without saying. */
function isQuiet({ event, status }: SwarmEvent): boolean {
  if (event === "called" || event === "reached") return true;
  if (event === "gateway") return status === "started" || status === "removed";
  return event === "line" && status === "live";
}
