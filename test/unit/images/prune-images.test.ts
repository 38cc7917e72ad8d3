import { describe, expect, test } from "vitest";
import { type PrunableImage, planImagePrune } from "../../../src/images/rules/prune-images.ts";

const current = ["aimi-sandbox:base", "aimi-sandbox:root"];

function image(
  id: string,
  role: string,
  minute: number,
  changes: Partial<PrunableImage> = {},
): PrunableImage {
  return { id, role, project: null, tags: [], createdAt: new Date(minute * 60_000), ...changes };
}

const projectImage = (id: string, minute: number, project = "ours"): PrunableImage =>
  image(id, "project-image", minute, { project, tags: [`aimi-sandbox-${project}:${id}`] });

const images: readonly PrunableImage[] = [
  image("root", "root-image", 1, { tags: ["aimi-sandbox:root"] }),
  image("base before", "base-image", 2, { tags: ["aimi-sandbox:base-1"] }),
  image("base", "base-image", 3, { tags: ["aimi-sandbox:base", "aimi-sandbox:base-2"] }),
  image("probe before", "probe-image", 4, { tags: ["aimi-sandbox:probe-1"] }),
  image("probe", "probe-image", 5, { tags: ["aimi-sandbox:probe-2"] }),
  projectImage("newest", 9),
  projectImage("before", 8),
  projectImage("long ago", 2),
  projectImage("theirs", 7, "other"),
  projectImage("theirs before", 6, "other"),
  image("built on ours", "project-image", 20, { project: "ours", tags: ["somebody:1"] }),
  image("ours, named by somebody too", "project-image", 1, {
    project: "ours",
    tags: ["aimi-sandbox-ours:x", "somebody:2"],
  }),
  image("without a name", "project-image", 30, { project: "ours" }),
  image("another's without a name", "project-image", 30, { project: "other" }),
  image("of another kind", "something", 1, { tags: ["aimi-sandbox:something"] }),
];

function pruned({
  of = images,
  all = false,
  project = "ours" as string | null,
}: {
  of?: readonly PrunableImage[];
  all?: boolean;
  project?: string | null;
} = {}): string[] {
  return planImagePrune(of, { project, all, current })
    .map(({ id }) => id)
    .sort();
}

describe("pruning", () => {
  test("takes all but the newest of this project, former bases and probes, and what lost its name", () => {
    expect(pruned()).toEqual(["base before", "before", "long ago", "probe before", "without a name"]);
  });

  test("takes the same whatever the order of the list", () => {
    expect(pruned({ of: [...images].reverse() })).toEqual(pruned());
  });

  test("outside a repository takes nothing of any project", () => {
    expect(pruned({ project: null })).toEqual(["base before", "probe before"]);
  });

  test("with --all takes every image of ours, of other projects too, and still nothing of somebody else", () => {
    const kept = images.map(({ id }) => id).filter((id) => !pruned({ all: true }).includes(id));

    expect(kept).toEqual(["built on ours", "ours, named by somebody too"]);
  });

  test("keeps the only one, and both of two that were made in the same second", () => {
    expect(pruned({ of: [projectImage("only", 1)] })).toEqual([]);
    expect(pruned({ of: [projectImage("a", 1), projectImage("b", 1)] })).toEqual([]);
    expect(pruned({ of: [] })).toEqual([]);
  });
});
