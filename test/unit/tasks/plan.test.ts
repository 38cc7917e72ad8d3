import { describe, expect, test } from "vitest";
import { findSchemaViolations } from "../../../src/schema/find-violations.ts";
import {
  explainSettings,
  type SettingsFile,
  settingsWithoutOrigins,
} from "../../../src/settings/rules/settings.ts";
import type { TaskLedgerLine } from "../../../src/tasks/rules/ledger.ts";
import { chooseMaxParallelWorkers, type HostCapacity } from "../../../src/tasks/rules/parallel-workers.ts";
import { type LoadedTask, type PlanContext, planSwarm } from "../../../src/tasks/rules/plan.ts";
import { storyWith, taskFileWith } from "../../fakes/tasks/task-files.ts";

function task(name: string, metadata: Parameters<typeof taskFileWith>[0] = {}): LoadedTask {
  const fileName = `${name}-tasks.json`;
  return {
    fileName,
    path: `.aimi/tasks/${fileName}`,
    sha256: name,
    taskFile: taskFileWith({ ...metadata, metadata: { branchName: `feat/${name}`, ...metadata?.metadata } }),
  };
}

const gigabyte = 1024 ** 3;
const roomOf = (change: Partial<HostCapacity>): HostCapacity => ({
  ...{ cpus: 2, memoryBytes: 32 * gigabyte, name: "the engine's host" },
  others: { workers: 0, memoryBytes: 0 },
  ...change,
});

function context(change: Partial<PlanContext> & { flags?: SettingsFile } = {}): PlanContext {
  const settings = settingsWithoutOrigins(
    explainSettings(
      { flag: change.flags ?? {}, environment: {}, project: {}, user: {} },
      { projectTrusted: false },
    ),
  );
  return {
    settings,
    ledger: new Map(),
    again: false,
    head: "a".repeat(40),
    capacity: roomOf({}),
    warnings: [],
    env: {},
    ...change,
  };
}

const done: TaskLedgerLine = {
  sha256: "a",
  file: "a-tasks.json",
  outcome: "completed",
  swarmId: "x",
  at: "2026-01-02T00:00:00.000Z",
};

describe("the plan", () => {
  test("task files that others depend on come first, and the dependants say why they wait", () => {
    const tasks = [task("late", { metadata: { dependsOn: ["early-tasks.json"] } }), task("early")];

    const plan = planSwarm(tasks, context());

    expect(plan.tasks.map(({ slug, why, base }) => [slug, why, base])).toEqual([
      ["early", "at once", "HEAD"],
      ["late", "after early-tasks.json", "the result of early-tasks.json"],
    ]);
  });

  test("what was completed with this very content is skipped, unless --again says otherwise", () => {
    const ledger = new Map([["a", done]]);

    expect(planSwarm([task("a")], context({ ledger })).tasks[0]).toMatchObject({
      action: "skip",
      why: expect.stringContaining("completed on 2026-01-02"),
    });
    expect(planSwarm([task("a")], context({ ledger, again: true })).tasks[0]).toMatchObject({
      action: "run",
    });
    expect(planSwarm([task("changed")], context({ ledger })).tasks[0]).toMatchObject({ action: "run" });
  });

  test("stories stand in the order in which they will run", () => {
    const stories = [
      storyWith({ id: "US-001", priority: 5 }),
      storyWith({ id: "US-002", priority: 1, dependsOn: ["US-001"] }),
      storyWith({ id: "US-003", priority: 2 }),
    ];

    expect(planSwarm([task("a", { stories })], context()).tasks[0]?.stories.map(({ id }) => id)).toEqual([
      "US-003",
      "US-001",
      "US-002",
    ]);
  });

  test.each([
    [{}, undefined, 4],
    [{ parallel: 8 }, undefined, 8],
    [{ parallel: 8 }, 2, 2],
    [{ parallel: 2 }, 6, 2],
    [{ parallel: 8 }, 0, 4],
    [{ parallel: 8 }, -1, 4],
  ] as const)(
    "with the settings %o and maxConcurrency %s there are %i workers at once",
    (flags, maxConcurrency, workers) => {
      const tasks = [task("a", { metadata: maxConcurrency === undefined ? {} : { maxConcurrency } })];

      expect(planSwarm(tasks, context({ flags })).parallel.workers).toBe(workers);
    },
  );

  test.each([
    [{ cpus: 16, memoryBytes: 16 * gigabyte }, 4, 3],
    [{ cpus: 2, memoryBytes: 64 * gigabyte }, 4, 4],
    [{ cpus: 8, memoryBytes: gigabyte }, 4, 1],
    [{ cpus: 16, memoryBytes: 64 * gigabyte }, 4, 14],
    [{ cpus: 128, memoryBytes: 512 * gigabyte }, 2, 230],
    [{ cpus: 16, memoryBytes: 64 * gigabyte, others: { workers: 2, memoryBytes: 8 * gigabyte } }, 4, 12],
    [{ cpus: 4, memoryBytes: 64 * gigabyte, others: { workers: 6, memoryBytes: 24 * gigabyte } }, 4, 2],
    [{ cpus: 4, memoryBytes: 64 * gigabyte, others: { workers: 16, memoryBytes: 64 * gigabyte } }, 4, 1],
    [{ cpus: 0, memoryBytes: 0 }, 4, 1],
  ])("a host with %o carries, at %i GB each, %i workers", (room, gigabytes, workers) => {
    const settings = { parallel: "auto", memoryBytes: gigabytes * gigabyte } as const;

    expect(chooseMaxParallelWorkers([], settings, roomOf(room)).workers).toBe(workers);
  });

  test.each([
    [[], "auto", {}, 4, "as many as the memory and CPUs of the engine's host allow"],
    [
      [],
      "auto",
      { cpus: 32, memoryBytes: 64 * gigabyte },
      14,
      "as many as the memory and CPUs of the engine's host allow",
    ],
    [
      [],
      "auto",
      { others: { workers: 3, memoryBytes: 0 } },
      1,
      "as many as the memory and CPUs of the engine's host allow in addition to the other sandboxes on this host",
    ],
    [[], "auto", { name: "this machine" }, 4, "as many as the memory and CPUs of this machine allow"],
    [[], "auto", null, 1, "the memory and CPUs of the engine's host are unknown"],
    [[], 9, null, 9, "set by --parallel or a setting"],
    [
      [3, 1, 2],
      9,
      null,
      1,
      "metadata.maxConcurrency of a task file reduces the number of workers, which would otherwise be 9",
    ],
    [
      [3],
      "auto",
      {},
      3,
      "metadata.maxConcurrency of a task file reduces the number of workers, which would otherwise be 4",
    ],
    [[5], "auto", {}, 4, "as many as the memory and CPUs of the engine's host allow"],
    [
      [0],
      9,
      null,
      4,
      "metadata.maxConcurrency of a task file reduces the number of workers, which would otherwise be 9",
    ],
  ] as const)(
    "with maxConcurrency %j and --parallel %s on %o there are %i, and it says why",
    (caps, parallel, room, workers, why) => {
      const tasks = caps.map((maxConcurrency) => task("a", { metadata: { maxConcurrency } }));

      expect(
        chooseMaxParallelWorkers(tasks, { parallel, memoryBytes: 4 * gigabyte }, room && roomOf(room)),
      ).toEqual({
        workers,
        why,
      });
    },
  );

  test("the document is what its schema says", async () => {
    const plan = planSwarm(
      [task("a"), task("b", { metadata: { verify: ["npm test"] } })],
      context({ head: null, warnings: ["look"] }),
    );

    expect(await findSchemaViolations("plan", JSON.parse(JSON.stringify(plan)))).toEqual([]);
  });

  const env = { ANTHROPIC_API_KEY: "sesame", GITHUB_TOKEN: "sesame" };

  test("says which network there is and whose variables go where, for what runs alone", () => {
    const ledger = new Map([["done", { ...done, sha256: "done" }]]);
    const tasks = [
      task("a"),
      task("b", { metadata: { agent: { kind: "script", script: "s.json" } } }),
      task("done", { metadata: { agent: { kind: "acp", command: ["gemini"] }, allow: ["npm"] } }),
    ];

    const open = planSwarm(tasks, context({ env, ledger, flags: { network: "bridge" } }));
    const byGateway = planSwarm(tasks, context({ env, ledger }));

    expect(open).toMatchObject({
      ...{ network: "bridge", warnings: [] },
      credentials: [{ agent: "claude", variables: ["ANTHROPIC_API_KEY"] }],
      reach: [
        expect.stringContaining("network bridge: NOT filtered"),
        expect.stringContaining("claude: ANTHROPIC_API_KEY goes into the agent's own environment"),
      ],
    });
    // No variable goes into a sandbox that has a gateway.
    expect(byGateway).toMatchObject({
      ...{ network: "gateway", warnings: [], credentials: [] },
      reach: [expect.stringMatching(/^claude calls .* with ANTHROPIC_API_KEY, which stays outside/)],
    });
    expect(JSON.stringify([open, byGateway])).not.toMatch(/sesame|GITHUB_TOKEN/);
  });

  test("says what flags and task files let out beside the models", async () => {
    const tasks = [task("a", { metadata: { allow: ["example.org:8443"] } })];

    const planned = planSwarm(tasks, context({ env, flags: { allow: ["pypi"] } }));

    expect(planned.reach.at(-1)).toMatch(
      /the gateway allows: pypi \(packages of Python\), example\.org:8443$/,
    );
    expect(planned.tasks[0]?.allow).toEqual(["pypi", "example.org:8443"]);
    expect(await findSchemaViolations("plan", JSON.parse(JSON.stringify(planned)))).toEqual([]);
  });

  test("warns of what `start` will refuse", () => {
    const sealed = planSwarm([task("a")], context({ env, flags: { network: "none" } }));
    const keyless = planSwarm([task("a")], context({ flags: { network: "bridge" } }));
    const keylessByGateway = planSwarm([task("a")], context());
    const here = { ...env, ANTHROPIC_BASE_URL: "http://localhost:4000" };

    expect(sealed.warnings).toEqual([expect.stringContaining("--network none")]);
    expect(keyless.warnings).toEqual([
      expect.stringContaining("needs one of the variables ANTHROPIC_AUTH_TOKEN"),
    ]);
    expect(keylessByGateway.warnings).toEqual(keyless.warnings);
    expect(planSwarm([task("a")], context({ env: here })).warnings).toEqual([
      expect.stringMatching(/^ANTHROPIC_BASE_URL: the gateway cannot call this address/),
    ]);
    expect(planSwarm([task("a")], context({ env: here, flags: { network: "bridge" } })).warnings).toEqual([]);
  });
});
