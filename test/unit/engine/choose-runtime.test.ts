import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { ProbeCache } from "../../../src/engine/probe-cache.ts";
import { chooseRuntime, type IsolationMeasurement } from "../../../src/engine/rules/choose-runtime.ts";
import {
  type IsolationLevel,
  isIsolationAtLeast,
  isolationLevels,
  judgeRuntimeIsolation,
  type Probe,
  preferredRuntimes,
} from "../../../src/engine/rules/isolation.ts";
import { SwarmError } from "../../../src/errors/errors.ts";
import { findRuntime } from "../../../src/sandbox/find-runtime.ts";
import { fakeEngine } from "../../fakes/engine/fake-engine.ts";

const engineKernel = "6.1.0";
const plain: Probe = {
  kernelRelease: engineKernel,
  uidMap: [{ inside: 0, outside: 0, count: 4_294_967_295 }],
  capabilities: "0000000000000000",
  noNewPrivileges: true,
  seccomp: 2,
  mountTypes: ["overlay", "proc", "tmpfs"],
  userId: 1000,
  sharedNamespaces: [],
  devices: [],
  hostMounts: [],
  openPaths: [],
  steps: [{ step: "stat", error: null }],
};
/** What Sysbox shows by its documents: mapped users, and its own view of /proc and /sys. It opens some of what runc closes. */
const trueSysbox: Probe = {
  ...plain,
  uidMap: [{ inside: 0, outside: 165_536, count: 65_536 }],
  mountTypes: [...plain.mountTypes, "fuse.sysboxfs", "ext4"],
  noNewPrivileges: false,
  hostMounts: ["/lib/modules/6.1.0", "/usr/src/linux-headers-6.1.0"],
  openPaths: ["/proc/timer_list"],
};
const gvisor: Probe = { ...plain, kernelRelease: "4.4.0", seccomp: null, noNewPrivileges: null };
const toolsFail = [{ step: "ls -la", error: "Invalid argument" }];

function measured(probes: Readonly<Record<string, Probe | string>>): Map<string, IsolationMeasurement> {
  return new Map(
    Object.entries(probes).map(([runtime, probe]): [string, IsolationMeasurement] => [
      runtime,
      typeof probe === "string"
        ? { kind: "failed", reason: probe }
        : { kind: "measured", found: judgeRuntimeIsolation(runtime, probe, engineKernel) },
    ]),
  );
}

describe("auto", () => {
  test("takes a true Sysbox first, whatever else there is", () => {
    const found = measured({ runc: plain, runsc: gvisor, "kata-runtime": gvisor, "sysbox-runc": trueSysbox });

    expect(chooseRuntime("auto", found)).toEqual({
      kind: "chosen",
      runtime: "sysbox-runc",
      level: "userns",
      evidence: "root in the sandbox is user 165536 on the host",
      rejectedRuntimes: [],
    });
  });

  test.each([
    ["plain runc", plain, "none of Sysbox's mounts"],
    ["runc with mapped users", { ...plain, uidMap: trueSysbox.uidMap }, "none of Sysbox's mounts"],
    [
      "Sysbox's mounts over plain users",
      { ...trueSysbox, uidMap: plain.uidMap },
      "root in the sandbox is root on the host",
    ],
    ["Sysbox with the host's processes", { ...trueSysbox, sharedNamespaces: ["pid"] }, "pid namespace"],
    ["Sysbox with capabilities for agents", { ...trueSysbox, capabilities: "1" }, "capabilities"],
    ["Sysbox in which tools fail", { ...trueSysbox, steps: toolsFail }, "ls -la: Invalid argument"],
    ["one that does not start", "sysbox-fs is not running", "sysbox-fs is not running"],
  ])("does not take %s for Sysbox, and says why it took the next", (_name, sysbox, reason) => {
    const choice = chooseRuntime("auto", measured({ "sysbox-runc": sysbox, runsc: gvisor, runc: plain }));

    expect(choice).toMatchObject({
      kind: "chosen",
      runtime: "runsc",
      rejectedRuntimes: [expect.stringMatching(`^sysbox-runc: .*${reason}`)],
    });
  });

  test("goes down the order, and tells of every one that it passed over", () => {
    const found = measured({ runc: plain, "sysbox-runc": plain, runsc: { ...gvisor, steps: toolsFail } });

    expect(chooseRuntime("auto", found)).toMatchObject({
      ...{ kind: "chosen", runtime: "runc", level: "shared-kernel" },
      rejectedRuntimes: [
        expect.stringMatching(/^sysbox-runc: the runtime is called sysbox/),
        expect.stringMatching(/^runsc: .*ls -la/),
      ],
    });
  });

  test("takes none when all are weakened: not even the plain one", () => {
    const found = measured({ "sysbox-runc": plain, runsc: plain, runc: { ...plain, seccomp: 0 } });

    expect(chooseRuntime("auto", found)).toEqual({
      kind: "none",
      found: [
        expect.stringMatching(/^sysbox-runc: the runtime is called sysbox/),
        "runsc: the runtime is called runsc, but the sandbox uses the kernel of the engine's host",
        "runc: the sandbox has no seccomp filter",
      ],
    });
  });

  test("knows only the runtimes of its order", () => {
    expect(chooseRuntime("auto", measured({ "my-own": gvisor }))).toEqual({ kind: "none", found: [] });
    expect(chooseRuntime("auto", measured({ "my-own": gvisor }), ["my-own"])).toMatchObject({
      runtime: "my-own",
      level: "strong",
    });
  });
});

describe("a demand", () => {
  test.each([
    ["strong", { "sysbox-runc": trueSysbox, runsc: gvisor, runc: plain }, "runsc"],
    ["userns", { "sysbox-runc": trueSysbox, runsc: gvisor, runc: plain }, "sysbox-runc"],
    ["userns", { runsc: gvisor, runc: plain }, "runsc"],
    ["userns", { runc: { ...plain, uidMap: trueSysbox.uidMap } }, "runc"],
    // Who demands it gets it, even where some tools fail in it.
    ["strong", { runsc: { ...gvisor, steps: toolsFail }, runc: plain }, "runsc"],
    ["shared-kernel", { runc: plain }, "runc"],
  ] as const)("for %s is met by the first in the order that isolates so", (wanted, probes, runtime) => {
    expect(chooseRuntime(wanted, measured(probes))).toMatchObject({ kind: "chosen", runtime });
  });

  test.each([
    [
      "strong",
      { "sysbox-runc": trueSysbox, runc: plain },
      "the runtime provides only the isolation level userns",
    ],
    ["strong", { runsc: plain, runc: plain }, "called runsc"],
    ["strong", { runsc: "it does not start", runc: plain }, "it does not start"],
    ["userns", { runc: plain }, "the runtime provides only the isolation level shared-kernel"],
    ["userns", { "sysbox-runc": plain, runc: plain }, "called sysbox"],
    ["strong", { runsc: { ...gvisor, capabilities: "a80425fb" }, runc: plain }, "capabilities"],
    ["strong", { runsc: { ...gvisor, sharedNamespaces: ["net"] }, runc: plain }, "net namespace"],
    ["shared-kernel", { runc: { ...plain, hostMounts: ["/host"] } }, "/host"],
  ] as const)("for %s that nothing meets is refused, with what was found", (wanted, probes, reason) => {
    const choice = chooseRuntime(wanted, measured(probes));

    expect(choice.kind).toBe("none");
    expect(choice.kind === "none" && choice.found).toHaveLength(Object.keys(probes).length);
    expect(choice.kind === "none" && choice.found[0]).toContain(reason);
  });

  test("is never stepped down from, whatever was measured", () => {
    const change: fc.Arbitrary<Partial<Probe>> = fc.record(
      {
        kernelRelease: fc.constantFrom(engineKernel, "4.4.0"),
        uidMap: fc.constantFrom(plain.uidMap, trueSysbox.uidMap, []),
        capabilities: fc.constantFrom("0000000000000000", "0000000000200000"),
        noNewPrivileges: fc.constantFrom(true, false, null),
        seccomp: fc.constantFrom(0, 2, null),
        mountTypes: fc.constantFrom(plain.mountTypes, trueSysbox.mountTypes),
        userId: fc.constantFrom(0, 1000),
        sharedNamespaces: fc.constantFrom<string[]>([], ["net"], ["pid", "ipc"]),
        devices: fc.constantFrom<string[]>([], ["vda"]),
        hostMounts: fc.constantFrom<string[]>([], ["/host"]),
        openPaths: fc.constantFrom<string[]>([], ["/proc/kcore"]),
        steps: fc.constantFrom(plain.steps, toolsFail),
      },
      { requiredKeys: [] },
    );
    const probes = fc.dictionary(
      fc.constantFrom(...preferredRuntimes),
      fc.oneof(
        change.map((changed) => ({ ...plain, ...changed })),
        fc.constant("it does not start"),
      ),
    );
    const wishes = fc.constantFrom<"auto" | IsolationLevel>("auto", ...isolationLevels);
    fc.assert(
      fc.property(wishes, probes, (wanted, given) => {
        const measurements = measured(given);
        const choice = chooseRuntime(wanted, measurements);

        const asked = preferredRuntimes.filter((runtime) => measurements.has(runtime));
        if (choice.kind === "none") {
          expect(choice.found).toHaveLength(asked.length);
          return;
        }
        const taken = measurements.get(choice.runtime);
        expect(taken).toMatchObject({ kind: "measured", found: { falseName: null, unconfined: [] } });
        expect(taken?.kind === "measured" && taken.found.level).toBe(choice.level);
        if (wanted !== "auto") expect(isIsolationAtLeast(choice.level, wanted)).toBe(true);
        expect(choice.rejectedRuntimes).toHaveLength(asked.indexOf(choice.runtime));
      }),
    );
  });
});

describe("finding the runtime of a sandbox", () => {
  const nothingKept: ProbeCache = { find: async () => null, store: async () => {} };

  /** An engine whose runtimes show this, or fail so. */
  function findWith(answers: Readonly<Record<string, Probe | SwarmError>>, wanted: "auto" | IsolationLevel) {
    const engine = fakeEngine({ runtimes: Object.keys(answers) });
    const probe = async (runtime: string): Promise<Probe> => {
      const answer = answers[runtime];
      if (answer === undefined || answer instanceof SwarmError) throw answer;
      return answer;
    };
    const deps = { engine: { ...engine, probe }, probes: nothingKept, adapterId: async () => "x" };
    return findRuntime(deps, wanted);
  }
  const fails = new SwarmError("ENGINE_FAILED", { operation: "run a container", reason: "no such file" });
  const silent = new SwarmError("ENGINE_UNREACHABLE", { tried: ["unix:///x: socket hang up"] });

  test("an engine that falls silent while it is measured is no reason to take a weaker one", async () => {
    await expect(findWith({ runsc: silent, runc: plain }, "auto")).rejects.toBe(silent);
    await expect(findWith({ runsc: silent, runc: plain }, "strong")).rejects.toBe(silent);
  });

  test("one that cannot run a container is passed over by auto, and says so; a demand fails with exit 3", async () => {
    expect(await findWith({ runsc: fails, runc: plain }, "auto")).toMatchObject({
      runtime: "runc",
      rejectedRuntimes: [expect.stringContaining("no such file")],
    });
    await expect(findWith({ runsc: fails, runc: plain }, "strong")).rejects.toMatchObject({
      code: "ISOLATION_UNAVAILABLE",
      exitCode: 3,
      message: expect.stringMatching(
        /strong.*no such file.*runc: the runtime provides only the isolation level shared-kernel/,
      ),
    });
  });

  test("a true Sysbox is taken at once, and nothing after it is measured", async () => {
    expect(await findWith({ "sysbox-runc": trueSysbox, runsc: silent }, "auto")).toMatchObject({
      runtime: "sysbox-runc",
      level: "userns",
    });
  });
});
