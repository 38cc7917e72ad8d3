import { describe, expect, test } from "vitest";
import type { ContainerRecord, SwarmState } from "../../../../src/state/rules/swarm-state.ts";
import {
  type AttemptCommitsAvailability,
  type CleanupInput,
  type EngineResource,
  findAttemptsWithLeftovers,
  planCleanup,
  recordWithDiscardedContainer,
} from "../../../../src/swarm/cleanup/rules/plan-cleanup.ts";
import { now, swarmOf } from "../../../fakes/state/records.ts";

const { swarmId, project } = swarmOf(0);
const otherSwarm = "11111111-2222-4333-8444-555555555555";
const id = "a".repeat(64);
const here: AttemptCommitsAvailability = { kind: "here" };
const elsewhere: AttemptCommitsAvailability = { kind: "elsewhere", why: "its commit is not here" };

const nameOf = (slug: string, swarm = swarmId): string =>
  `aimi-${project.id.slice(0, 6)}-${swarm.slice(0, 6)}-${slug}`;
const taskOf = (slug: string): string => `.aimi/tasks/2026-01-02-${slug.replace(/\.a\d+$/, "")}-tasks.json`;

/** A swarm with one worker, `login`. */
function swarmWith(change: Partial<ContainerRecord> = {}): SwarmState {
  const state = swarmOf(1);
  const record = {
    containerName: nameOf("login"),
    taskFilePath: taskOf("login"),
    containerId: id,
    ...change,
  };
  return { ...state, containers: state.containers.map((other) => ({ ...other, ...record })) };
}

function thing(
  kind: EngineResource["kind"],
  name: string,
  change: Partial<EngineResource> = {},
): EngineResource {
  return { kind, name, swarmId, taskFile: taskOf("login"), attempt: 1, ...change };
}

/** All that one attempt leaves. */
function leftBy(slug: string, change: Partial<EngineResource> = {}): EngineResource[] {
  const base = nameOf(slug.replace(/\.a\d+$/, ""), change.swarmId ?? swarmId);
  const name = nameOf(slug, change.swarmId ?? swarmId);
  const facts = { taskFile: taskOf(slug), ...change };
  return [
    thing("volume", `${base}.home`, facts),
    thing("volume", name, facts),
    thing("container", name, facts),
  ];
}

function plan(question: Partial<CleanupInput>) {
  return planCleanup({
    ...{ state: swarmWith(), resources: leftBy("login"), locationOf: () => here, discard: false, only: null },
    ...question,
  });
}

const removedBy = (question: Partial<CleanupInput>): string[] =>
  plan(question).remove.map(({ kind, name }) => `${kind} ${name}`);

const everything = [
  `container ${nameOf("login")}`,
  `volume ${nameOf("login")}`,
  `volume ${nameOf("login")}.home`,
];

describe("what workers left on the engine", () => {
  /** One line for each record, and what happens to its things: with its work here, with it elsewhere. */
  const table: readonly [status: ContainerRecord["status"], ifHere: string, ifElsewhere: string][] = [
    ["pending", "kept", "kept"],
    ["running", "kept", "kept"],
    ["stopped", "kept", "kept"],
    ["completed", "removed", "kept"],
    ["failed", "removed", "kept"],
  ];

  test.each(table)("of a %s worker: work here %s, work elsewhere %s", (status, ifHere, ifElsewhere) => {
    for (const [place, expected] of [
      [here, ifHere],
      [elsewhere, ifElsewhere],
    ] as const) {
      const { remove, keep, discarded } = plan({ state: swarmWith({ status }), locationOf: () => place });

      expect({ removed: remove.length, kept: keep.length }).toEqual(
        expected === "removed" ? { removed: 3, kept: 0 } : { removed: 0, kept: 3 },
      );
      expect(keep.every(({ why, worker }) => why.length > 5 && worker === "login")).toBe(true);
      expect(discarded).toEqual([]);
    }
  });

  test.each(table)("of a %s worker: --discard takes all of it, and gives up what was not safe", (status) => {
    const state = swarmWith({ status });

    const { remove, keep, discarded } = plan({ state, locationOf: () => elsewhere, discard: true });

    expect({ removed: remove.length, keep }).toEqual({ removed: 3, keep: [] });
    expect(discarded).toEqual([nameOf("login")]);
    expect(plan({ state: swarmWith({ status: "completed" }), discard: true }).discarded).toEqual([]);
  });

  test("removes the sandbox of a check that was cut off, which is nobody's work", () => {
    const check = thing("container", "aimi-012345-3f2b8c.check", {
      taskFile: null,
      attempt: null,
      isOfCheck: true,
    });
    const plan = planCleanup({
      ...{ state: swarmWith(), resources: [check], discard: false, only: null },
      locationOf: () => elsewhere,
    });

    expect(plan).toMatchObject({ remove: [{ name: check.name, worker: null }], keep: [] });
  });

  test("goes in an order that can be cut off: containers, their volumes, and conversations last", () => {
    expect(removedBy({ state: swarmWith({ status: "failed" }) })).toEqual(everything);
  });

  test("a record that was given up has failed, can be tried again, and is nothing to be collected from", () => {
    for (const status of ["running", "stopped", "pending"] as const) {
      const [record] = swarmWith({ status, acpPid: 7 }).containers as [ContainerRecord];

      expect(recordWithDiscardedContainer(record, now)).toMatchObject({
        ...{ status: "failed", containerId: null, acpPid: null, reason: { code: "CONTAINER_LOST" } },
      });
    }
    const [failed] = swarmWith({ status: "failed", reason: { code: "X", message: "x" } }).containers as [
      ContainerRecord,
    ];
    expect(recordWithDiscardedContainer(failed, now)).toMatchObject({
      reason: { code: "X" },
      containerId: null,
    });
  });

  test("only what belongs to the workers that were named, with their attempts before", () => {
    const state = swarmWith({ status: "completed", attempt: 2, containerName: nameOf("login.a2") });
    const things = [
      ...leftBy("login.a2", { attempt: 2 }),
      ...leftBy("login").slice(1),
      ...leftBy("other"),
      ...leftBy("login", { swarmId: otherSwarm }),
    ];

    expect(removedBy({ state, resources: things, only: [nameOf("login.a2")] })).toEqual([
      `container ${nameOf("login.a2")}`,
      `container ${nameOf("login")}`,
      `volume ${nameOf("login.a2")}`,
      `volume ${nameOf("login")}`,
      `volume ${nameOf("login")}.home`,
    ]);
  });

  test("an attempt before is judged by its own journal, and the conversations stay for the one that runs", () => {
    const state = swarmWith({ status: "running", attempt: 2, containerName: nameOf("login.a2") });
    const things = [...leftBy("login.a2", { attempt: 2 }), ...leftBy("login").slice(1)];

    const { remove, keep } = plan({ state, resources: things });

    expect(remove.map(({ name }) => name)).toEqual([nameOf("login"), nameOf("login")]);
    expect(keep.map(({ name }) => name)).toEqual([
      nameOf("login.a2"),
      nameOf("login.a2"),
      `${nameOf("login")}.home`,
    ]);
  });
});

describe("what no record knows", () => {
  const orphans = leftBy("login", { swarmId: otherSwarm });

  test("goes when its work is here, and else only with --discard, which changes no record", () => {
    expect(removedBy({ resources: orphans })).toHaveLength(3);
    expect(plan({ resources: orphans, locationOf: () => elsewhere }).keep).toHaveLength(3);
    expect(plan({ resources: orphans, locationOf: () => elsewhere, discard: true })).toMatchObject({
      ...{ keep: [], discarded: [] },
    });
    expect(removedBy({ state: null, resources: orphans })).toHaveLength(3);
  });

  test("its attempt is asked for by the folder of its journal", () => {
    expect(findAttemptsWithLeftovers(null, leftBy("login.a3", { swarmId: otherSwarm, attempt: 3 }))).toEqual([
      { swarmId: otherSwarm, slug: "login", attempt: 3, status: null },
    ]);
    expect(findAttemptsWithLeftovers(swarmWith({ status: "failed" }), leftBy("login"))).toEqual([
      { swarmId, slug: "login", attempt: 1, status: "failed" },
    ]);
  });

  test("a task that is called like the volume of another one's conversations is told apart", () => {
    const things = leftBy("my-home", { swarmId: otherSwarm });
    const asked: string[] = [];

    const { remove } = plan({
      resources: things,
      locationOf: ({ slug }) => {
        asked.push(slug);
        return here;
      },
    });

    expect(new Set(asked)).toEqual(new Set(["my-home"]));
    expect(remove.map(({ name }) => name)).toEqual([
      nameOf("my-home", otherSwarm),
      nameOf("my-home", otherSwarm),
      `${nameOf("my-home", otherSwarm)}.home`,
    ]);
  });

  test.each([
    ["no swarm", { swarmId: null }],
    ["no task file", { taskFile: null }],
    ["no attempt", { attempt: null }],
    ["another swarm than its name", { swarmId: "99999999-2222-4333-8444-555555555555" }],
    ["a name that leads out", { name: "../../etc" }],
    ["a name with a line break", { name: "aimi-0123456-x\nremoved container everything" }],
    ["a task file that leads out", { taskFile: "../../../.aimi/x-tasks.json", name: "x" }],
  ])("with %s in its labels nobody can say whose it is, and it stays", (_what, change) => {
    const things = [thing("container", nameOf("login", otherSwarm), { swarmId: otherSwarm, ...change })];

    const { remove, keep } = plan({ state: null, resources: things, locationOf: () => here });

    expect(remove).toEqual([]);
    expect(keep).toMatchObject([{ why: "the labels of this resource do not identify a worker" }]);
    for (const { slug } of findAttemptsWithLeftovers(null, things)) expect(slug).toMatch(/^[a-z0-9-]+$/);
  });

  test("hostile labels cannot make somebody else's journal answer for a worker", () => {
    // The record's own things, but claimed for an attempt that is to come.
    const things = leftBy("login", { attempt: 9 });

    expect(
      plan({ state: swarmWith({ status: "running" }), resources: things, locationOf: () => here }).remove,
    ).toEqual([]);
  });
});
