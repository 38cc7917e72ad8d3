import { type EngineWorktreeScope, type LabelledContainer, labels } from "../engine.ts";
import { labelFilter } from "./label-filter.ts";

/** Returns the API path of the request that lists all containers of the given worktree. */
export function containerListPath(scope: EngineWorktreeScope): string {
  return `/containers/json?all=1&filters=${worktreeFilterQuery(scope)}`;
}

/** The API path of the request that lists the running and paused sandboxes of all users. */
export const sandboxesInUsePath: string = `/containers/json?filters=${filterQuery({ [labels.sandbox]: "true" })}`;

/** Returns the filter for the labels of the given worktree, encoded for a URL's query. */
export function worktreeFilterQuery({ projectId, worktree }: EngineWorktreeScope): string {
  return filterQuery({ [labels.project]: projectId, [labels.worktree]: worktree });
}

function filterQuery(wanted: Readonly<Record<string, string>>): string {
  return encodeURIComponent(labelFilter(wanted));
}

/**
 * Returns the valid entries in the engine's list of containers; returns null if the engine's answer is not a
 * list.
 */
export function parseContainerList(list: unknown): LabelledContainer[] | null {
  return Array.isArray(list) ? list.filter(isRow).map(toContainer) : null;
}

interface ContainerRow {
  readonly Id: string;
  readonly Names: readonly string[];
  readonly State: string;
  readonly Labels: Readonly<Record<string, string>>;
}

function isRow(row: Partial<ContainerRow> | null): row is ContainerRow {
  return (
    typeof row?.Id === "string" &&
    typeof row.State === "string" &&
    Array.isArray(row.Names) &&
    typeof row.Labels === "object" &&
    row.Labels !== null
  );
}

function toContainer({ Id, Names, State, Labels }: ContainerRow): LabelledContainer {
  return {
    containerId: Id,
    name: Names[0]?.replace(/^\//, "") ?? Id,
    state: states.get(State) ?? "dead",
    labels: Labels,
  };
}

/** Docker's container states, and those that only Podman has. A state that is not listed counts as `dead`. */
const states: ReadonlyMap<string, LabelledContainer["state"]> = new Map([
  ["created", "created"],
  ["running", "running"],
  ["paused", "paused"],
  ["restarting", "restarting"],
  ["removing", "removing"],
  ["exited", "exited"],
  ["configured", "created"],
  ["initialized", "created"],
  ["stopping", "running"],
  ["stopped", "exited"],
]);
