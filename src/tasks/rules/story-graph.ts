import type { StoryStatus } from "../../contract/swarm-state.ts";
import type { UserStory } from "../../contract/tasks.ts";

type StoryNode = Pick<UserStory, "id" | "priority" | "dependsOn">;

/**
 * A problem in a graph of dependencies between stories or tasks; `node` is the index of the node that has the
 * problem.
 */
interface GraphProblem {
  readonly node: number;
  /** The index of the wrong entry in the `dependsOn` of the node. Absent for a duplicate name or a cycle. */
  readonly dependency?: number;
  readonly problem: string;
  readonly hint: string;
}

interface Node {
  readonly name: string;
  readonly dependsOn: readonly string[];
}

/**
 * Finds the problems of a dependency graph: duplicate names, references to missing nodes, references of a
 * node to itself, and cycles.
 */
export function findGraphProblems(nodes: readonly Node[]): GraphProblem[] {
  const firstByName = new Map<string, number>();
  const problems: GraphProblem[] = [];
  nodes.forEach(({ name }, node) => {
    if (firstByName.has(name))
      problems.push({
        node,
        problem: `the id ${name} is used a second time`,
        hint: "Give each story its own id.",
      });
    else firstByName.set(name, node);
  });
  nodes.forEach(({ name, dependsOn }, node) => {
    dependsOn.forEach((other, dependency) => {
      const place = { node, dependency };
      if (other === name)
        problems.push({ ...place, problem: `${name} depends on itself`, hint: "Remove this dependency." });
      else if (!firstByName.has(other))
        problems.push({
          ...place,
          problem: `${name} depends on ${other}, which does not exist`,
          hint: nearest(other, [...firstByName.keys()]),
        });
    });
  });
  if (problems.length > 0) return problems;

  const cycle = findCycle(nodes, firstByName);
  const [first] = cycle;
  if (first === undefined) return [];
  const names = [...cycle, first].map((index) => nodes[index]?.name).join(" → ");
  return [
    {
      node: first,
      problem: `the dependencies form a cycle: ${names}`,
      hint: "Remove one of these dependencies.",
    },
  ];
}

function nearest(wanted: string, names: readonly string[]): string {
  const near = names.find(
    (name) =>
      name.toLowerCase() === wanted.toLowerCase() || name.startsWith(wanted) || wanted.startsWith(name),
  );
  return near
    ? `Did you mean ${near}?`
    : `The known names are: ${names.slice(0, 8).join(", ")}${names.length > 8 ? " …" : ""}.`;
}

/**
 * Finds a dependency cycle; returns the indexes of its nodes, or an empty array. Does not use recursion,
 * which would overflow the stack on a chain of ten thousand stories.
 */
function findCycle(nodes: readonly Node[], indexByName: ReadonlyMap<string, number>): number[] {
  const mark = new Map<number, "open" | "done">();
  for (let start = 0; start < nodes.length; start += 1) {
    const path: { index: number; next: number }[] = mark.has(start) ? [] : [{ index: start, next: 0 }];
    while (path.length > 0) {
      const step = path.at(-1);
      if (!step) break;
      mark.set(step.index, "open");
      const dependency = nodes[step.index]?.dependsOn[step.next];
      step.next += 1;
      const target = dependency === undefined ? undefined : indexByName.get(dependency);
      if (target === undefined) {
        mark.set(step.index, "done");
        path.pop();
      } else if (mark.get(target) === "open") {
        const indexes = path.map(({ index }) => index);
        return indexes.slice(indexes.indexOf(target));
      } else if (!mark.has(target)) {
        path.push({ index: target, next: 0 });
      }
    }
  }
  return [];
}

/** Returns the pending stories whose dependencies are all completed, sorted by priority, then by ID. */
export function readyStories<Story extends StoryNode>(
  stories: readonly Story[],
  statusById: ReadonlyMap<string, StoryStatus>,
): Story[] {
  return stories
    .filter(({ id }) => statusOf(statusById, id) === "pending")
    .filter(({ dependsOn = [] }) => dependsOn.every((id) => statusOf(statusById, id) === "completed"))
    .sort(byPriorityThenId);
}

/**
 * Finds pending stories that can never start. Maps the ID of each such story to the ID of the failed or
 * skipped story on which it depends.
 */
export function storiesToSkip(
  stories: readonly StoryNode[],
  statusById: ReadonlyMap<string, StoryStatus>,
): Map<string, string> {
  const dependantsById = findDependants(stories);
  const skipped = new Map<string, string>();
  const blocked = stories
    .map(({ id }) => id)
    .filter((id) => ["failed", "skipped"].includes(statusOf(statusById, id)));
  for (let next = blocked.pop(); next !== undefined; next = blocked.pop()) {
    for (const dependant of dependantsById.get(next) ?? []) {
      if (skipped.has(dependant) || statusOf(statusById, dependant) !== "pending") continue;
      skipped.set(dependant, next);
      blocked.push(dependant);
    }
  }
  return skipped;
}

/** Returns the stories in the order in which the adapter runs them if none fails. */
export function storyOrder<Story extends StoryNode>(stories: readonly Story[]): Story[] {
  const waitingFor = new Map(stories.map(({ id, dependsOn }) => [id, new Set(dependsOn)]));
  const storyById = new Map(stories.map((story) => [story.id, story]));
  const dependantsById = findDependants(stories);
  const ready = stories.filter(({ dependsOn }) => !dependsOn?.length).sort(byPriorityThenId);
  const order: Story[] = [];
  for (let story = ready.shift(); story !== undefined; story = ready.shift()) {
    order.push(story);
    for (const id of dependantsById.get(story.id) ?? []) {
      const waiting = waitingFor.get(id);
      const dependant = storyById.get(id);
      if (waiting?.delete(story.id) && waiting.size === 0 && dependant) insertSorted(ready, dependant);
    }
  }
  return order;
}

function findDependants(stories: readonly StoryNode[]): ReadonlyMap<string, string[]> {
  const dependantsById = new Map<string, string[]>();
  for (const { id, dependsOn = [] } of stories)
    for (const dependency of dependsOn)
      dependantsById.set(dependency, [...(dependantsById.get(dependency) ?? []), id]);
  return dependantsById;
}

function insertSorted<Story extends StoryNode>(sorted: Story[], story: Story): void {
  let low = 0;
  for (let high = sorted.length; low < high; ) {
    const middle = (low + high) >> 1;
    const other = sorted[middle];
    if (other && byPriorityThenId(other, story) <= 0) low = middle + 1;
    else high = middle;
  }
  sorted.splice(low, 0, story);
}

function byPriorityThenId(a: StoryNode, b: StoryNode): number {
  return a.priority - b.priority || (a.id < b.id ? -1 : a.id > b.id ? 1 : 0);
}

function statusOf(statusById: ReadonlyMap<string, StoryStatus>, id: string): StoryStatus {
  return statusById.get(id) ?? "pending";
}
