import { type EngineScope, type LabelledContainer, labels } from "../ports/engine.ts";

/** Returns the API path at which an engine lists the containers of one worktree. */
export function containerListPath(scope: EngineScope): string {
  return `/containers/json?all=1&filters=${worktreeFilterQuery(scope)}`;
}

/** The API path at which an engine lists the running and paused sandboxes of all users. */
export const sandboxesInUsePath: string = `/containers/json?filters=${encodeURIComponent(
  JSON.stringify({ label: [`${labels.sandbox}=true`] }),
)}`;

/** Returns a filter by the labels of one worktree, encoded for the query of a URL. */
export function worktreeFilterQuery({ projectId, worktree }: EngineScope): string {
  return encodeURIComponent(
    JSON.stringify({ label: [`${labels.project}=${projectId}`, `${labels.worktree}=${worktree}`] }),
  );
}

/** Returns the valid rows of the engine's list of containers, or null if the answer is no list. */
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
  return { containerId: Id, name: Names[0]?.replace(/^\//, "") ?? Id, state: stateOf(State), labels: Labels };
}

const ownStates: readonly LabelledContainer["state"][] = [
  "created",
  "running",
  "paused",
  "restarting",
  "removing",
  "dead",
  "exited",
];

/** Maps Podman's own names of container states to Docker's names. An unknown state counts as dead. */
const otherStates: Readonly<Record<string, LabelledContainer["state"]>> = {
  configured: "created",
  initialized: "created",
  stopping: "running",
  stopped: "exited",
};

function stateOf(text: string): LabelledContainer["state"] {
  return ownStates.find((state) => state === text) ?? otherStates[text] ?? "dead";
}
