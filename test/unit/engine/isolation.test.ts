import { describe, expect, test } from "vitest";
import {
  isIsolationAtLeast,
  judgeRuntimeIsolation,
  type Probe,
} from "../../../src/engine/rules/isolation.ts";

const engineKernel = "6.1.0-host";
const plain: Probe = {
  kernelRelease: engineKernel,
  uidMap: [{ inside: 0, outside: 0, count: 4294967295 }],
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
const mapped = [{ inside: 0, outside: 165_536, count: 65_536 }];

describe("what a runtime isolates", () => {
  test.each([
    ["plain runc", "runc", plain, "shared-kernel"],
    ["runc with mapped users", "runc", { ...plain, uidMap: mapped }, "userns"],
    ["gVisor", "runsc", { ...plain, kernelRelease: "4.4.0" }, "strong"],
    [
      "real Sysbox",
      "sysbox-runc",
      { ...plain, uidMap: mapped, mountTypes: ["overlay", "fuse.sysboxfs"] },
      "userns",
    ],
  ] as const)("%s is measured, under its true name", (_name, runtime, probe, level) => {
    expect(judgeRuntimeIsolation(runtime, probe, engineKernel)).toMatchObject({ level, falseName: null });
  });

  test.each([
    ["runc called sysbox-runc", "sysbox-runc", plain],
    ["runc with mapped users called sysbox-runc", "sysbox-runc", { ...plain, uidMap: mapped }],
    [
      "something with Sysbox's mounts and root as root",
      "sysbox-runc",
      { ...plain, mountTypes: ["fuse.sysboxfs"] },
    ],
    ["runc called runsc", "runsc", plain],
    ["runc called kata", "kata-runtime", plain],
  ] as const)("%s is told for what it is", (_name, runtime, probe) => {
    const { falseName } = judgeRuntimeIsolation(runtime, probe, engineKernel);

    expect(falseName).toMatch(/^the runtime is called/);
  });

  test("Sysbox's mounts excuse nothing where root inside is root outside", () => {
    const probe: Probe = { ...plain, mountTypes: ["fuse.sysboxfs"], seccomp: 0, noNewPrivileges: false };

    expect(judgeRuntimeIsolation("sysbox-runc", probe, engineKernel).unconfined).toEqual([
      "an agent's processes could gain privileges",
      "the sandbox has no seccomp filter",
    ]);
  });

  test("no mapping at all protects nothing", () => {
    expect(judgeRuntimeIsolation("runc", { ...plain, uidMap: [] }, engineKernel).level).toBe("shared-kernel");
  });

  test("steps that fail make a runtime unusable, with the reason", () => {
    const steps = [
      { step: "stat", error: "Invalid argument" },
      { step: "rename", error: null },
    ];

    expect(
      judgeRuntimeIsolation("runsc", { ...plain, kernelRelease: "4.4.0", steps }, engineKernel).unusable,
    ).toEqual(["stat: Invalid argument"]);
  });

  test.each([
    [
      "capabilities",
      { capabilities: "00000000a80425fb" },
      "the agent's processes would have Linux capabilities",
    ],
    ["privileges to gain", { noNewPrivileges: false }, "an agent's processes could gain privileges"],
    ["no seccomp", { seccomp: 0 }, "the sandbox has no seccomp filter"],
  ])("%s on the engine's kernel: not confined", (_name, change, problem) => {
    expect(judgeRuntimeIsolation("runc", { ...plain, ...change }, engineKernel).unconfined).toEqual([
      problem,
    ]);
    expect(judgeRuntimeIsolation("runc", plain, engineKernel).unconfined).toEqual([]);
  });

  test.each([
    ["strong", "userns", true],
    ["userns", "userns", true],
    ["shared-kernel", "userns", false],
    ["userns", "strong", false],
  ] as const)("%s satisfies %s: %s", (level, wanted, satisfied) => {
    expect(isIsolationAtLeast(level, wanted)).toBe(satisfied);
  });
});
