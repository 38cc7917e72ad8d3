import type Docker from "dockerode";
import { SwarmError } from "../../errors/errors.ts";
import type { AbortOption, EngineConnection, TimedEngineCallDescription } from "./call-engine.ts";

/** Calls the engine about one container. `operation` is a text such as `start the container`. */
export function callContainer<Result>(
  { docker, call }: EngineConnection,
  id: string,
  operation: string,
  options: Partial<TimedEngineCallDescription>,
  ask: (container: Docker.Container, ending: AbortOption) => Promise<Result>,
): Promise<Result> {
  return call({ ...describeContainerCall(id, operation), ...options }, (ending) =>
    ask(docker.getContainer(id), ending),
  );
}

/** Describes a call about one container. If the container is missing or does not run, the error says so. */
export function describeContainerCall(
  id: string,
  operation: string,
  signal?: AbortSignal,
): TimedEngineCallDescription {
  return {
    operation: `${operation} ${id}`,
    container: id,
    missing: () => new SwarmError("CONTAINER_GONE", { id }),
    conflicting: (reason) => new SwarmError("CONTAINER_NOT_RUNNING", { id, state: stateIn(reason) }),
    signal,
  };
}

/**
 * Extracts the container's state from an error message of the engine. For example, returns `paused` for the
 * message `Container 1ab… is paused`.
 */
function stateIn(reason: string): string {
  return /is (?:already )?(\w+)[^ ]*$/.exec(reason.split(",")[0] ?? "")?.[1] ?? "ended or never started";
}
