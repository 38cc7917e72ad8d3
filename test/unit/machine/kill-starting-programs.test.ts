import { spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { existsSync, mkdirSync, rmdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import {
  freezerFilesOf,
  isRuntimeExecInto,
  killStartingPrograms,
} from "../../../src/machine/kill-starting-programs.ts";
import { findProcesses, isAlive } from "../../../src/machine/processes.ts";
import { eventually } from "../../fakes/eventually.ts";
import { test as inFolder } from "../../fakes/folders.ts";

const id = randomBytes(32).toString("hex");
const other = randomBytes(32).toString("hex");
const exec = ["--detach", "--pid-file", `/run/task/${id}/e.pid`];

describe("what begins a program in a container", () => {
  test.each<[string, readonly string[], boolean]>([
    ["runc", ["runc", "--root", "/r", "exec", "--process", "/tmp/p1", ...exec, id, ""], true],
    ["gVisor", ["/usr/bin/runsc", "--root", "/r", "exec", "--process", "/tmp/p1", ...exec, id], true],
    ["one for another container", ["runc", "exec", "--process", "/tmp/p1", ...exec, other], false],
    ["the container's shim", ["/usr/bin/containerd-shim-runc-v2", "-namespace", "moby", "-id", id], false],
    ["who thaws it", ["runc", "--root", "/r", "resume", id], false],
    ["a client of the engine", ["docker", "exec", id], false],
    ["a program about it", ["docker", "inspect", id], false],
  ])("is told by its arguments: %s", (_name, argv, expected) => {
    expect(isRuntimeExecInto(argv, id)).toBe(expected);
  });

  inFolder.skipIf(process.platform !== "linux")("is ended, and nothing else", async ({ folder }) => {
    // A script has its own name, as the private engine's `runsc` has.
    const runtime = join(folder, "runc");
    writeFileSync(runtime, "#!/bin/sh\necho here\nread word\n", { mode: 0o755 });
    const words = ["exec", "--process", "/tmp/p1"];
    const mine = spawn(runtime, [...words, id]);
    const others = spawn(runtime, [...words, other]);
    try {
      await Promise.all([mine, others].map(({ stdout }) => once(stdout, "data")));
      const gone = once(mine, "exit");

      expect(await killStartingPrograms(id, { onlyFrozen: true })).toBe(0);
      expect(await killStartingPrograms(id, { onlyFrozen: false })).toBe(1);

      expect(await gone).toEqual([null, "SIGKILL"]);
      expect([others.exitCode, others.signalCode]).toEqual([null, null]);
      expect(await killStartingPrograms(randomBytes(32).toString("hex"), { onlyFrozen: false })).toBe(0);
    } finally {
      mine.kill("SIGKILL");
      others.kill("SIGKILL");
    }
  });
});

/** The freezer of cgroup v1, or the unified hierarchy. */
const hierarchy = ["/sys/fs/cgroup/freezer", "/sys/fs/cgroup"].find((path) => existsSync(path));

inFolder.skipIf(process.getuid?.() !== 0 || hierarchy === undefined)(
  "what the kernel keeps frozen is ended, though no pause is known",
  async ({ folder }) => {
    const runtime = join(folder, "runc");
    writeFileSync(runtime, "#!/bin/sh\nsleep 1000 &\necho $!\nwait\n", { mode: 0o755 });
    const cgroup = join(hierarchy ?? "", `swarm-test-${id.slice(0, 12)}`);
    const isV1 = hierarchy?.endsWith("freezer") === true;
    const freeze = (isFrozen: boolean): void =>
      isV1
        ? writeFileSync(join(cgroup, "freezer.state"), isFrozen ? "FROZEN" : "THAWED")
        : writeFileSync(join(cgroup, "cgroup.freeze"), isFrozen ? "1" : "0");
    const starting = spawn(runtime, ["exec", "--process", "/tmp/p1", id]);
    const [line] = (await once(starting.stdout, "data")) as [Buffer];
    const program = Number(line.toString());
    mkdirSync(cgroup);
    try {
      writeFileSync(join(cgroup, "cgroup.procs"), String(program));
      expect(await killStartingPrograms(id, { onlyFrozen: true })).toBe(0);
      freeze(true);
      const killed = await eventually("a program that is frozen", async () => {
        const count = await killStartingPrograms(id, { onlyFrozen: true });
        return count === 0 ? null : count;
      });
      expect(killed).toBe(1);
    } finally {
      freeze(false);
      starting.kill("SIGKILL");
      process.kill(program, "SIGKILL");
      await eventually("the program's end", async () => (isAlive(program) ? null : true));
      rmdirSync(cgroup);
    }
  },
);

test.each([
  [
    "cgroup v1",
    "6:freezer:/docker/ab\n4:cpu,cpuacct:/docker/ab\n",
    ["/sys/fs/cgroup/freezer/docker/ab/freezer.state"],
  ],
  ["cgroup v2", "0::/system.slice/ab.scope\n", ["/sys/fs/cgroup/system.slice/ab.scope/cgroup.events"]],
  ["none", "", []],
])("a process's freezer is found under %s", (_version, cgroups, files) => {
  expect(freezerFilesOf(cgroups)).toEqual(files);
});

// A process in the midst of a fork bomb lets nobody read its arguments, and its reader waits with it.
test.skipIf(process.platform !== "linux")("arguments are read only of processes with the name", async () => {
  const read: string[] = [];
  await findProcesses(/^no-such-name$/, ([program = ""]) => read.push(program) > 0);
  expect(read).toEqual([]);
});
