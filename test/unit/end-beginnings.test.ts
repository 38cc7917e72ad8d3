import { spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { isRuntimeExecInto, killStartingPrograms } from "../../src/host/end-beginnings.ts";
import { findProcesses } from "../../src/host/processes.ts";
import { test as inFolder } from "../fakes/folders.ts";

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

      expect(await killStartingPrograms(id)).toBe(1);

      expect(await gone).toEqual([null, "SIGKILL"]);
      expect([others.exitCode, others.signalCode]).toEqual([null, null]);
      expect(await killStartingPrograms(randomBytes(32).toString("hex"))).toBe(0);
    } finally {
      mine.kill("SIGKILL");
      others.kill("SIGKILL");
    }
  });
});

// A process in the midst of a fork bomb lets nobody read its arguments, and its reader waits with it.
test.skipIf(process.platform !== "linux")("arguments are read only of processes with the name", async () => {
  const read: string[] = [];
  await findProcesses(/^no-such-name$/, ([program = ""]) => read.push(program) > 0);
  expect(read).toEqual([]);
});
