import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { StoryStatus } from "../../../src/contract/swarm-state.ts";
import {
  findGraphProblems,
  readyStories,
  storiesToSkip,
  storyOrder,
} from "../../../src/tasks/rules/story-graph.ts";
import { count } from "../../counts.ts";

function story(id: string, priority: number, dependsOn: string[] = []) {
  return { id, priority, dependsOn };
}

const ids = (stories: readonly { id: string }[]): string[] => stories.map(({ id }) => id);

/** Graphs without cycles: each story depends only on earlier ones. */
const graphs = fc
  .array(
    fc.record({ priority: fc.integer({ min: 0, max: 3 }), picks: fc.array(fc.nat(), { maxLength: 3 }) }),
    { maxLength: 30 },
  )
  .map((nodes) =>
    nodes.map(({ priority, picks }, index) =>
      story(`S${index}`, priority, index === 0 ? [] : [...new Set(picks.map((pick) => `S${pick % index}`))]),
    ),
  );

describe("the story graph", () => {
  test("stories run by dependencies, then priority, then id", () => {
    const stories = [
      story("US-003", 1),
      story("US-002", 1),
      story("US-001", 9),
      story("US-004", 0, ["US-001"]),
    ];

    expect(ids(storyOrder(stories))).toEqual(["US-002", "US-003", "US-001", "US-004"]);
  });

  test("a story waits for every dependency", () => {
    const stories = [story("A", 1), story("B", 1), story("C", 0, ["A", "B"])];

    expect(ids(readyStories(stories, new Map()))).toEqual(["A", "B"]);
    expect(ids(readyStories(stories, new Map([["A", "completed"]])))).toEqual(["B"]);
    expect(
      ids(
        readyStories(
          stories,
          new Map<string, StoryStatus>([
            ["A", "completed"],
            ["B", "completed"],
          ]),
        ),
      ),
    ).toEqual(["C"]);
  });

  test("a failed story skips everything behind it, and nothing else", () => {
    const stories = [story("A", 1), story("B", 1, ["A"]), story("C", 1, ["B"]), story("D", 1)];

    expect(storiesToSkip(stories, new Map([["A", "failed"]]))).toEqual(
      new Map([
        ["B", "A"],
        ["C", "B"],
      ]),
    );
  });

  test("a skipped dependency skips its dependants; they never run", () => {
    const stories = [story("A", 1), story("B", 1, ["A"])];

    expect(readyStories(stories, new Map([["A", "skipped"]]))).toEqual([]);
    expect([...storiesToSkip(stories, new Map([["A", "skipped"]])).keys()]).toEqual(["B"]);
  });

  test("whatever the graph, the order has each story once, behind its dependencies", () => {
    fc.assert(
      fc.property(graphs, (stories) => {
        const order = ids(storyOrder(stories));
        const position = new Map(order.map((id, index) => [id, index]));

        expect([...order].sort()).toEqual(ids(stories).sort());
        for (const { id, dependsOn } of stories) {
          for (const dependency of dependsOn)
            expect(position.get(dependency)).toBeLessThan(position.get(id) ?? -1);
        }
      }),
      { numRuns: count.graphRuns },
    );
  });

  test("whatever fails, carrying out ends with every story completed, failed or skipped", () => {
    fc.assert(
      fc.property(graphs, fc.array(fc.boolean(), { minLength: 30, maxLength: 30 }), (stories, fails) => {
        const statusById = new Map<string, StoryStatus>();
        for (
          let next = readyStories(stories, statusById);
          next.length > 0;
          next = readyStories(stories, statusById)
        ) {
          for (const { id } of next) statusById.set(id, fails[Number(id.slice(1))] ? "failed" : "completed");
          for (const id of storiesToSkip(stories, statusById).keys()) statusById.set(id, "skipped");
        }

        expect(statusById.size).toBe(stories.length);
        expect([...statusById.values()]).not.toContain("pending");
      }),
      { numRuns: count.graphRuns },
    );
  });

  test.each([
    [
      "a cycle of three",
      [
        ["A", "C"],
        ["B", "A"],
        ["C", "B"],
      ],
      "the dependencies form a cycle: A → C → B → A",
    ],
    [
      "a cycle behind a chain",
      [
        ["A", "B"],
        ["B", "C"],
        ["C", "B"],
      ],
      "the dependencies form a cycle: B → C → B",
    ],
    ["a reference to itself", [["A", "A"]], "A depends on itself"],
    ["a reference to nothing", [["A", "Z"]], "A depends on Z, which does not exist"],
    ["an id that stands twice", [["A"], ["A"]], "the id A is used a second time"],
  ])("%s is found", (_name, nodes, problem) => {
    const found = findGraphProblems(nodes.map(([name = "", ...dependsOn]) => ({ name, dependsOn })));

    expect(found.map((each) => each.problem)).toEqual([problem]);
  });

  test("ten thousand stories in a row do not end the stack, nor does their cycle", () => {
    const chain = Array.from({ length: 10_000 }, (_, index) => ({
      name: `S${index}`,
      dependsOn: index === 0 ? [] : [`S${index - 1}`],
    }));
    const ring = chain.map((node, index) => (index === 0 ? { ...node, dependsOn: ["S9999"] } : node));

    expect(findGraphProblems(chain)).toEqual([]);
    expect(findGraphProblems(ring)).toHaveLength(1);
    expect(storyOrder(chain.map(({ name, dependsOn }) => story(name, 1, dependsOn)))).toHaveLength(10_000);
  });
});
