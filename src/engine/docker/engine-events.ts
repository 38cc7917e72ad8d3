import { SwarmError } from "../../errors/errors.ts";
import type { ContainerEvent } from "../containers.ts";
import type { EngineConnection } from "./call-engine.ts";
import { assignments } from "./label-filter.ts";
import { translateEngineFailure } from "./translate-failure.ts";

const maxLineLength = 1024 * 1024;

/** Yields the engine's events about containers with these labels, until the signal is aborted. */
export async function* engineEvents(
  { docker, endpoint, call }: EngineConnection,
  labels: Readonly<Record<string, string>>,
  signal: AbortSignal,
): AsyncGenerator<ContainerEvent> {
  const meaning = { operation: "report events", signal };
  const filters = JSON.stringify({ type: ["container"], label: assignments(labels) });
  const stream = await call(meaning, (ending) => docker.getEvents({ filters, ...ending }));
  let rest = "";
  try {
    for await (const bytes of stream) {
      const lines = (rest + String(bytes)).split("\n");
      rest = (lines.pop() ?? "").slice(0, maxLineLength);
      for (const line of lines) {
        const event = eventIn(line);
        if (event) yield event;
      }
    }
  } catch (error) {
    if (signal.aborted) return;
    throw translateEngineFailure(endpoint, meaning, error);
  }
  // An engine that stops closes the event stream as if the stream were complete.
  if (!signal.aborted)
    throw new SwarmError("ENGINE_UNREACHABLE", { tried: [`${endpoint}: the engine ended the event stream`] });
}

function eventIn(line: string): ContainerEvent | null {
  if (line.trim() === "") return null;
  const { Action, Actor } = JSON.parse(line) as {
    Action?: string;
    Actor?: { ID?: string; Attributes?: Record<string, string> };
  };
  if (!Action || !Actor?.ID) return null;
  return { containerId: Actor.ID, name: Actor.Attributes?.["name"] ?? "", action: Action };
}
