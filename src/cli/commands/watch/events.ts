import type { KeptEvent } from "../../../contract/event.ts";
import { invalidValue } from "../../../errors/errors.ts";
import { readEvents } from "../../../events/read-events.ts";
import { type EventKind, eventKinds } from "../../../events/rules/event-filter.ts";
import { sanitizeText } from "../../../text/sanitize-text.ts";
import { type CommandHandler, textOption } from "../../flags/command.ts";
import { describeEventFacts } from "../../render/describe-event.ts";

export const eventsCommand: CommandHandler = async ({ project, output, signal }, _args, options) => {
  const follow = options["follow"] === true;
  const choice = {
    kind: kindIn(textOption(options, "kind")),
    worker: textOption(options, "worker"),
    swarm: textOption(options, "swarm"),
    follow,
  };
  let isEmpty = true;
  for await (const event of readEvents(project, choice, signal)) {
    isEmpty = false;
    await output.item(event, () => eventLine(event));
  }
  if (isEmpty && !follow) output.note("The event log contains no matching events.");
};

function kindIn(word: string | null): EventKind | null {
  const kind = eventKinds.find((each) => each === word) ?? null;
  if (word !== null && kind === null) throw invalidValue("--kind", word, eventKinds.join(" or "));
  return kind;
}

function eventLine({ at, worker, isCut, ...facts }: KeptEvent): string {
  const time = sanitizeText(at).replace(/\.\d+Z$/, "Z");
  return `${time}  ${sanitizeText(worker ?? "swarm")}  ${describeEventFacts(facts)}${isCut ? " (cut)" : ""}`;
}
