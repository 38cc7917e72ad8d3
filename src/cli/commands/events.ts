import type { KeptEvent } from "../../contract/event.ts";
import { SwarmError } from "../../errors/errors.ts";
import { exitCodes } from "../../errors/exit-codes.ts";
import { readEvents } from "../../events/read-events.ts";
import { type EventKind, eventKinds } from "../../events/rules/event-filter.ts";
import { sanitizeText } from "../../text/sanitize-text.ts";
import type { CommandHandler } from "../flags/command.ts";
import { describeEventFacts } from "../render/describe-event.ts";

export const eventsCommand: CommandHandler = async ({ project, output, signal }, _args, options) => {
  const follow = options["follow"] === true;
  const kind = kindIn(options["kind"]);
  const choice = { kind, worker: wordIn(options["worker"]), swarm: wordIn(options["swarm"]), follow };
  let isEmpty = true;
  for await (const event of readEvents(project, choice, signal)) {
    isEmpty = false;
    await output.item(event, () => eventLine(event));
  }
  if (isEmpty && !follow) output.note("The event log contains no matching events.");
  return exitCodes.done;
};

function wordIn(option: unknown): string | null {
  return typeof option === "string" ? option : null;
}

function kindIn(option: unknown): EventKind | null {
  const word = wordIn(option);
  const kind = eventKinds.find((each) => each === word) ?? null;
  if (word !== null && kind === null)
    throw new SwarmError("INVALID_VALUE", { name: "--kind", value: word, expected: eventKinds.join(" or ") });
  return kind;
}

function eventLine({ at, worker, isCut, ...facts }: KeptEvent): string {
  const time = sanitizeText(at).replace(/\.\d+Z$/, "Z");
  return `${time}  ${sanitizeText(worker ?? "swarm")}  ${describeEventFacts(facts)}${isCut ? " (cut)" : ""}`;
}
