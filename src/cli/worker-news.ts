import type { AdapterMessage } from "../domain/acp-messages.ts";
import { cleanText } from "../domain/clean-text.ts";
import type { SwarmEvent } from "../swarm/swarm-deps.ts";

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

/** What the owner decided or did, in a line. */
export function describeEvent({ event, worker, ...facts }: SwarmEvent): string | null {
  const reason = facts["reason"] as { code: string; message: string } | null | undefined;
  const why = reason ? `, ${reason.code}: ${reason.message}` : "";
  switch (event) {
    case "started":
    case "created":
      return `${worker}  ${event}`;
    case "collected":
      return `${worker}  collected ${String(facts["commit"]).slice(0, 10)}`;
    case "ended":
      return cleanText(`${worker}  ${String(facts["status"])}${why}`, 1_000);
    case "skipped":
    case "refused":
      return cleanText(`${worker}  ${event}${why}`, 1_000);
    case "line":
      return facts["status"] === "live"
        ? null
        : cleanText(`${worker}  line ${String(facts["status"])}: ${String(facts["why"])}`);
    default:
      return null;
  }
}
