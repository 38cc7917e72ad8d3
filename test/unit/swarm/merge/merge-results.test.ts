import { describe, expect, test } from "vitest";
import type { RanCheck } from "../../../../src/contract/merge.ts";
import {
  type MergedResults,
  mergeResults,
  type WorkerResult,
} from "../../../../src/swarm/merge/merge-results.ts";
import { mergeOrder } from "../../../../src/swarm/merge/rules/merge-order.ts";

/** Commits are the names of what is in them, so a merge is both together. */
interface World {
  readonly conflicts?: readonly (readonly [string, string])[];
  /** Whether the check passes with all of these. */
  readonly passes?: (names: readonly string[]) => boolean;
  readonly begin?: string;
  readonly looksAhead?: boolean;
  /** A check that ends only when it is ended. */
  readonly hanging?: string;
  readonly held?: readonly string[];
  readonly sizes?: Readonly<Record<string, number>>;
}

const namesIn = (commit: string): string[] => commit.split("+").filter(Boolean);

async function merged(
  commits: Readonly<Record<string, string>>,
  {
    conflicts = [],
    passes = () => true,
    begin = "main",
    sizes = {},
    looksAhead = false,
    hanging = "",
    held = [],
  }: World = {},
): Promise<
  MergedResults & {
    readonly checks: string[];
    readonly dropped: string[];
    /** Checks that were begun while one went on that nobody wants any more. */
    readonly besideVain: string[];
    readonly said: Record<string, string>;
  }
> {
  const meet = (one: string, other: string): boolean =>
    conflicts.some(
      ([a, b]) =>
        (namesIn(one).includes(a) && namesIn(other).includes(b)) ||
        (namesIn(one).includes(b) && namesIn(other).includes(a)),
    );
  const checks: string[] = [];
  const dropped: string[] = [];
  const besideVain: string[] = [];
  const running = new Set<string>();
  const ran = (exitCode: number): RanCheck => ({ exitCode, output: "", durationMs: 1 });
  const results = Object.entries(commits).map(
    ([worker, commit]): WorkerResult => ({
      ...{ worker, commit, base: "main", message: worker },
      holdReason: held.includes(worker) ? { code: "TESTS_WEAKENED", message: "it deletes a test" } : null,
    }),
  );
  const found = await mergeResults(
    {
      work: {
        async merge({ ours, theirs }) {
          if (meet(ours, theirs)) return { kind: "conflict", files: ["file"] };
          return { kind: "commit", commit: [...new Set([...namesIn(ours), ...namesIn(theirs)])].join("+") };
        },
        conflicts: async (pairs) => pairs.map(([one, other]) => (meet(one, other) ? ["file"] : [])),
        isAncestor: async (ancestor, commit) =>
          namesIn(ancestor).every((name) => namesIn(commit).includes(name)),
        changes: async (_base, tip) => ({
          ...{ commits: [], files: [], isCut: false },
          totals: { files: 1, added: sizes[tip] ?? 1, deleted: 0 },
        }),
      },
      looksAhead,
      async check(commit, _what, ending) {
        checks.push(commit);
        if (running.size > 1) besideVain.push(commit);
        running.add(commit);
        ending.addEventListener("abort", () => dropped.push(commit));
        // The next one is merged meanwhile.
        await new Promise(setImmediate);
        if (commit !== hanging) running.delete(commit);
        else await new Promise<void>((resolve) => ending.addEventListener("abort", () => resolve()));
        running.delete(commit);
        return ran(passes(namesIn(commit)) ? 0 : 1);
      },
      onStep: () => {},
      signal: new AbortController().signal,
    },
    { begin, origin: "main" },
    results,
  );
  const said = Object.fromEntries(
    found.workers.map(({ worker, outcome, reason, with: others }) => [
      worker,
      [reason?.code ?? outcome, ...others].join(" "),
    ]),
  );
  return { ...found, checks, dropped, besideVain, said };
}

describe("the order of merges", () => {
  const one = (worker: string, facts: Partial<Parameters<typeof mergeOrder>[0][number]> = {}) => ({
    ...{ worker, buildsOn: [], conflicts: 0, size: 1 },
    ...facts,
  });

  test("is by what builds on what, then by conflicts, then by size, then as they came", () => {
    const ordered = mergeOrder([
      one("large", { size: 100 }),
      one("upon", { buildsOn: ["rival"] }),
      one("rival", { conflicts: 1 }),
      one("small"),
      one("as-small"),
    ]);

    expect(ordered.map(({ worker }) => worker)).toEqual(["small", "as-small", "large", "rival", "upon"]);
  });

  test("takes each once, even where they say that they are built on each other", () => {
    const ordered = mergeOrder([one("a", { buildsOn: ["b"] }), one("b", { buildsOn: ["a"] })]);

    expect(ordered.map(({ worker }) => worker)).toEqual(["a", "b"]);
  });
});

describe("results on a train", () => {
  test("are all kept where nothing is against it, and each is checked with those before it", async () => {
    const { tip, said, checks } = await merged({ a: "main+a", b: "main+b" });

    expect(tip).toBe("main+a+b");
    expect(said).toEqual({ a: "merged", b: "merged" });
    expect(checks).toEqual(["main+a", "main+a+b"]);
  });

  test("that are there already are neither merged nor checked", async () => {
    const { tip, said, checks } = await merged({ a: "main+a" }, { begin: "main+a+x" });

    expect([tip, said, checks]).toEqual(["main+a+x", { a: "merged before" }, []]);
  });

  test("that were merged by an earlier merge are still what the others are compared with", async () => {
    const commits = { a: "main+a", b: "main+b", c: "main+c" };
    const { said } = await merged(commits, {
      begin: "main+a",
      conflicts: [["a", "b"]],
      passes: (names) => !(names.includes("a") && names.includes("c")),
    });

    expect(said).toEqual({ a: "merged before", b: "MERGE_CONFLICT a", c: "CHECK_FAILED_TOGETHER a" });
  });

  test("are checked two at a time where there is room, and what was begun in vain is ended", async () => {
    const commits = { a: "main+a", bad: "main+bad", c: "main+c", d: "main+d" };
    const world = {
      passes: (names: readonly string[]) => !names.includes("bad"),
      sizes: { "main+a": 1, "main+bad": 2, "main+c": 3, "main+d": 4 },
    };

    const ahead = await merged(commits, { ...world, looksAhead: true, hanging: "main+a+bad+c" });
    const plain = await merged(commits, world);

    expect(ahead.checks.slice(0, 3)).toEqual(["main+a", "main+a+bad", "main+a+bad+c"]);
    expect(ahead.dropped).toEqual(["main+a+bad+c"]);
    expect(ahead.besideVain).toEqual([]);
    expect([ahead.tip, ahead.said]).toEqual([plain.tip, plain.said]);
    expect(plain.dropped).toEqual([]);
  });

  test("at which a person has to look first are set aside, with what is built on them", async () => {
    const commits = { a: "main+a", upon: "main+a+upon", b: "main+b" };
    const { said, checks } = await merged(commits, { held: ["a"], looksAhead: true });

    expect(said).toEqual({ b: "merged", a: "TESTS_WEAKENED", upon: "BUILDS_ON_SET_ASIDE a" });
    expect(checks).toEqual(["main+b"]);
  });

  test("that conflict lose to the one that conflicts with fewer, with its name", async () => {
    const conflicts = [
      ["a", "b"],
      ["a", "c"],
    ] as const;
    const { said } = await merged({ a: "main+a", b: "main+b", c: "main+c" }, { conflicts });

    expect(said).toEqual({ b: "merged", c: "merged", a: "MERGE_CONFLICT b c" });
  });

  test("that conflict with what they are merged upon are nobody's rival", async () => {
    const { said } = await merged({ a: "a" }, { conflicts: [["main", "a"]] });

    expect(said).toEqual({ a: "MERGE_CONFLICT" });
  });

  test("that break the check by themselves are told apart from those that break it together", async () => {
    const passes = (names: readonly string[]): boolean =>
      !names.includes("bad") && !(names.includes("a") && names.includes("d"));
    const { said, tip } = await merged(
      { a: "main+a", b: "main+b", d: "main+d", bad: "main+bad" },
      { passes, sizes: { "main+d": 5, "main+bad": 6 } },
    );

    expect(said).toEqual({
      ...{ a: "merged", b: "merged" },
      ...{ d: "CHECK_FAILED_TOGETHER a", bad: "CHECK_FAILED" },
    });
    expect(tip).toBe("main+a+b");
  });

  test("that only several together break are blamed on all of them", async () => {
    const passes = (names: readonly string[]): boolean => names.length < 4;
    const { said } = await merged(
      { a: "main+a", b: "main+b", c: "main+c" },
      { passes, sizes: { "main+c": 5 } },
    );

    expect(said["c"]).toBe("CHECK_FAILED_TOGETHER a b");
  });

  test("that are built on one that was set aside go with it", async () => {
    const { said, tip } = await merged(
      { bad: "main+bad", upon: "main+bad+upon", more: "main+bad+upon+more", good: "main+good" },
      { passes: (names) => !names.includes("bad") },
    );

    expect(said).toEqual({
      ...{ good: "merged", bad: "CHECK_FAILED" },
      ...{ upon: "BUILDS_ON_SET_ASIDE bad", more: "BUILDS_ON_SET_ASIDE bad upon" },
    });
    expect(tip).toBe("main+good");
  });

  test("are kept where the check was red before", async () => {
    const { said, before } = await merged({ a: "main+a" }, { passes: () => false });

    expect([said, before?.exitCode]).toEqual([{ a: "merged" }, 1]);
  });
});
