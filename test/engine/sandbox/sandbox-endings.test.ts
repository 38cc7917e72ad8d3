import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdirSync, readdirSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { afterEach, describe, expect, inject } from "vitest";
import type { SandboxRecord } from "../../../src/contract/sandbox-run.ts";
import { labels } from "../../../src/engine/engine.ts";
import { swarmProgram } from "../../fakes/cli/swarm-command.ts";
import { openEngine } from "../../fakes/engine/engine-at.ts";
import { test } from "../../fakes/folders.ts";
import { write } from "../../fakes/git/repository.ts";
import { destroyUsed, listed, outputsOf, placeOf, sandbox, up } from "../../fakes/sandbox/sandbox-command.ts";

const engine = openEngine(inject("endpoint"));

/** Resolves when the engine tells that a sandbox's container ended. */
async function untilEnded({ id }: SandboxRecord): Promise<void> {
  const { containers } = await engine.open();
  const stopping = new AbortController();
  for await (const { action } of containers.events({ [labels.sandboxId]: id }, stopping.signal))
    if (action === "die") stopping.abort();
}

afterEach(destroyUsed);

describe("a sandbox that ends", () => {
  test("by its time to live, with nobody of us alive, is written down by the next command that looks", async ({
    folder,
  }) => {
    write(folder, "long.sh", "echo begun; echo evidence > /outputs/early.txt; sleep 1000");
    const record = await up(folder, "runtime: bash\nttl: 2s\n");
    const child = spawn(swarmProgram, ["sandbox", "run", "long.sh"], placeOf(folder));
    await once(child.stdout, "data");
    const ended = untilEnded(record);
    child.kill("SIGKILL");
    await ended;

    const [after] = await listed(folder);

    expect(after).toMatchObject({ status: "timeout", exitCode: null, reason: { code: "SANDBOX_EXPIRED" } });
    expect(outputsOf(folder, record, "early.txt")).toBe("evidence\n");
    expect(outputsOf(folder, record, "stdout.log")).toBe("begun\n");
    expect(JSON.parse(outputsOf(folder, record, "summary.json"))).toMatchObject({
      status: "timeout",
      exitCode: null,
    });
    expect(await (await engine.open()).containers.inspect(record.container?.id ?? "")).toBeNull();
    const used = await sandbox(folder, "exec", "--", "true");
    expect(used).toMatchObject({ exit: 7, stderr: expect.stringContaining("error SANDBOX_EXPIRED") });
  });

  test("by its time to live in the middle of a run exits with 7 and keeps the outputs", async ({
    folder,
  }) => {
    write(folder, "long.sh", "echo here > /outputs/early.txt; sleep 1000");
    const record = await up(folder, "runtime: bash\nttl: 1s\n");

    const ran = await sandbox(folder, "run", "long.sh");

    expect(ran).toMatchObject({ exit: 7, stderr: expect.stringContaining("error SANDBOX_EXPIRED") });
    expect((await listed(folder))[0]).toMatchObject({ status: "timeout", exitCode: null });
    expect(outputsOf(folder, record, "early.txt")).toBe("here\n");
  });

  test("removed by somebody else is failed, and says so", async ({ folder }) => {
    const record = await up(folder, "runtime: bash\n");
    await (await engine.open()).containers.remove(record.container?.id ?? "");

    expect((await listed(folder))[0]).toMatchObject({ status: "failed", reason: { code: "CONTAINER_LOST" } });
    expect(await sandbox(folder, "exec", "--", "true")).toMatchObject({
      exit: 125,
      stderr: expect.stringContaining("error SANDBOX_ENDED"),
    });
  });

  test("a task whose client was killed goes on, and its end is known", async ({ folder }) => {
    write(
      folder,
      "slow.sh",
      "echo begun; head -c 1 /work/go >/dev/null; echo late > /outputs/late.txt; echo to nobody; exit 5",
    );
    const record = await up(folder, "runtime: bash\n");
    await sandbox(folder, "exec", "--", "mkfifo", "/work/go");
    const child = spawn(swarmProgram, ["sandbox", "run", "slow.sh"], placeOf(folder));
    await once(child.stdout, "data");
    child.kill("SIGKILL");
    await once(child, "exit");
    expect((await listed(folder))[0]).toMatchObject({ status: "running" });
    expect(await sandbox(folder, "run", "slow.sh")).toMatchObject({
      exit: 125,
      stderr: expect.stringMatching(
        /error SANDBOX_BUSY: .*although the swarm process that started it has ended/,
      ),
    });

    // The task reads this byte, and is the only one to have the pipe open; it has ended when no shell of it is left.
    await sandbox(
      folder,
      "exec",
      "--",
      "sh",
      "-c",
      "echo x > /work/go; while pgrep -f /task/slo[w].sh; do :; done",
    );

    expect((await listed(folder))[0]).toMatchObject({
      status: "failed",
      exitCode: 5,
      reason: { code: "UNATTENDED" },
    });
    expect(outputsOf(folder, record, "late.txt")).toBe("late\n");
  });

  test("Ctrl-C ends the task's processes and leaves the sandbox", async ({ folder }) => {
    write(folder, "long.sh", "echo begun; sleep 987654");
    await up(folder, "runtime: bash\n");
    const child = spawn(swarmProgram, ["sandbox", "run", "long.sh"], placeOf(folder));
    await once(child.stdout, "data");

    child.kill("SIGINT");
    const [exit] = await once(child, "exit");

    expect(exit).toBe(130);
    expect((await listed(folder))[0]).toMatchObject({ status: "failed", reason: { code: "INTERRUPTED" } });
    expect((await sandbox(folder, "exec", "--", "pgrep", "-f", "sleep 98765[4]")).exit).toBe(1);
  });
});

describe("bad input", () => {
  const nothingMade = async (folder: string): Promise<void> => {
    const entries = existsSync(join(folder, ".aimi", "sandboxes"))
      ? readdirSync(join(folder, ".aimi", "sandboxes")).filter((name) => !name.startsWith("."))
      : [];
    expect(entries).toEqual([]);
  };

  test("a mistake in the spec is told with its place, before anything is made", async ({ folder }) => {
    write(folder, "sandbox.yaml", "name: demo\nvolumes:\n  - /:/host\n");

    const { exit, stderr } = await sandbox(folder, "up");

    expect(exit).toBe(2);
    expect(stderr).toMatch(/error SANDBOX_SPEC_INVALID: sandbox\.yaml:2:1 /);
    await nothingMade(folder);
  });

  test.for([
    ["network: host\n", "--dangerous-allow-host-network", "host"],
    ["privileged: true\n", "--dangerous-allow-privileged", "none"],
  ] as const)("%s needs its flag, and is loud with it", async ([spec, flag, network], { folder }) => {
    write(folder, "sandbox.yaml", spec);
    const refused = await sandbox(folder, "up");
    expect(refused).toMatchObject({ exit: 2, stderr: expect.stringContaining("error DANGEROUS") });
    expect(refused.stderr).toContain(flag);
    await nothingMade(folder);

    const allowed = await sandbox(folder, "up", "--json", flag);

    expect(allowed.exit, allowed.stderr).toBe(0);
    expect(JSON.parse(allowed.stdout).network).toBe(network);
    expect(allowed.stderr).toContain("! DANGEROUS");
  });

  test("a sandbox that nothing ends is loud", async ({ folder }) => {
    write(folder, "sandbox.yaml", "ttl: 1s\n");

    const { stdout, stderr } = await sandbox(folder, "up", "--json", "--no-auto-destroy");

    expect(JSON.parse(stdout)).toMatchObject({ ttl: "none", ttlMs: null });
    expect(stderr).toContain("! DANGEROUS: this sandbox runs until you end it");
  });

  test.for([
    ['inputs: ["*.none"]\n', "no file matches the pattern"],
    ["inputs: [outside]\n", "is a link to a file outside the folder"],
  ] as const)("the inputs of %s are refused", async ([spec, reason], { folder }) => {
    mkdirSync(join(folder, "here"));
    symlinkSync("/etc/hostname", join(folder, "outside"));
    write(folder, "sandbox.yaml", spec);

    const { exit, stderr } = await sandbox(folder, "up");

    expect({ exit, stderr }).toMatchObject({
      exit: 2,
      stderr: expect.stringContaining("error INPUT_REFUSED"),
    });
    expect(stderr).toContain(reason);
    await nothingMade(folder);
  });

  test("an image that cannot be pulled is tried twice and told; nothing stays", async ({ folder }) => {
    write(folder, "sandbox.yaml", "runtime: registry.invalid/none:1\n");

    const { exit, stderr } = await sandbox(folder, "up");

    expect(exit).toBe(3);
    expect(stderr).toMatch(/error IMAGE_PULL_FAILED: .*could not be pulled in two attempts/);
    await nothingMade(folder);
  });

  test("a task file that is missing is told before the sandbox is touched", async ({ folder }) => {
    const record = await up(folder, "{}\n");

    expect(await sandbox(folder, "run", "none.py")).toMatchObject({
      exit: 125,
      stderr: expect.stringContaining("error TASK_MISSING"),
    });
    expect((await (await engine.open()).containers.inspect(record.container?.id ?? ""))?.state).toBe(
      "created",
    );
  });

  test("missing and broken programs exit as with docker; our own failures with 125", async ({ folder }) => {
    expect(await sandbox(folder, "exec", "--", "true")).toMatchObject({
      exit: 125,
      stderr: expect.stringContaining("error SANDBOX_NONE"),
    });
    await up(folder, "{}\n");

    const missing = await sandbox(folder, "exec", "--", "no-such-program");
    expect(missing).toMatchObject({ exit: 127, stderr: expect.stringContaining("error PROGRAM_NOT_FOUND") });
    expect(missing.stderr).not.toContain("aimi-");
    expect(await sandbox(folder, "exec", "--", "/etc/hostname")).toMatchObject({
      exit: 126,
      stderr: expect.stringContaining("error PROGRAM_NOT_EXECUTABLE"),
    });
    expect(await sandbox(folder, "exec", "--sandbox", "nobody00", "--", "true")).toMatchObject({ exit: 125 });
    expect(await sandbox(folder, "exec", "--", "--version")).toMatchObject({ exit: 127 });
  });

  test("a demand is never weakened by the spec", async ({ folder, skip }) => {
    skip(!(await engine.info()).runtimes.includes("runsc"), "this machine has no gVisor");

    const record = await up(folder, "isolation: shared-kernel\n", "--isolation", "strong");

    expect(record.isolation).toEqual({ level: "strong", runtime: "runsc" });
  });

  test("whoever closes our output early ends the program too, and is told of no mistake", async ({
    folder,
  }) => {
    await up(folder, "{}\n");
    const child = spawn(swarmProgram, ["sandbox", "exec", "yes", "endless-word"], placeOf(folder));
    const [exited, said] = [once(child, "exit"), child.stderr.toArray()];
    await once(child.stdout, "data");

    child.stdout.destroy();
    const [exit] = await exited;

    expect([exit, Buffer.concat(await said).toString()]).toEqual([141, ""]);
    expect((await sandbox(folder, "exec", "pgrep", "-x", "yes")).exit).toBe(1);
  });

  test("an isolation that does not exist names those that do", async ({ folder }) => {
    expect((await sandbox(folder, "up", "--isolation", "nonsense")).stderr).toContain(
      "Use one of auto, shared-kernel, userns, strong",
    );
  });

  test("destroying a sandbox in which a task runs ends the task, and it stays destroyed", async ({
    folder,
  }) => {
    write(folder, "long.sh", "echo kept > /outputs/kept.txt; echo begun; sleep 1000");
    const record = await up(folder, "runtime: bash\n");
    const child = spawn(swarmProgram, ["sandbox", "run", "long.sh"], placeOf(folder));
    const exited = once(child, "exit");
    const told: Buffer[] = [];
    child.stderr.on("data", (chunk: Buffer) => told.push(chunk));
    await once(child.stdout, "data");

    const destroyed = await sandbox(folder, "destroy");
    await exited;

    expect(destroyed.exit, destroyed.stderr).toBe(0);
    expect(Buffer.concat(told).toString()).toContain("`swarm sandbox destroy` ended the sandbox");
    expect(Buffer.concat(told).toString()).not.toContain("from outside");
    expect((await listed(folder))[0]).toMatchObject({ id: record.id, status: "destroyed" });
    expect(outputsOf(folder, record, "kept.txt")).toBe("kept\n");
    expect((await sandbox(folder, "destroy", "--purge", record.id)).exit).toBe(0);
    expect(await listed(folder)).toEqual([]);
  });

  test("outputs that cannot be brought out are not thrown away, unless that is asked for", async ({
    folder,
  }) => {
    write(folder, "hide.sh", "echo precious > /outputs/a.txt; chmod 000 /outputs");
    const record = await up(folder, "runtime: bash\n");
    expect((await sandbox(folder, "run", "hide.sh")).stderr).toContain(
      "! copied out of the sandbox only in part: /outputs: ",
    );

    const refused = await sandbox(folder, "destroy");
    await sandbox(folder, "exec", "chmod", "755", "/outputs");
    const destroyed = await sandbox(folder, "destroy");

    expect(refused).toMatchObject({ exit: 3, stderr: expect.stringContaining("error CLEANUP_FAILED") });
    expect(destroyed.exit, destroyed.stderr).toBe(0);
    expect(outputsOf(folder, record, "a.txt")).toBe("precious\n");
  });

  test("with --json there is one document, however a task ends", async ({ folder }) => {
    write(folder, "flood.sh", "head -c 100M /dev/zero");
    write(folder, "fine.sh", "echo out; exit 4");
    await up(folder, "runtime: bash\n");

    const [fine, flood] = [
      await sandbox(folder, "run", "--json", "fine.sh"),
      await sandbox(folder, "run", "--json", "flood.sh"),
    ];

    expect([fine.exit, JSON.parse(fine.stdout)]).toMatchObject([4, { exitCode: 4, stdout: "out\n" }]);
    expect([flood.exit, JSON.parse(flood.stdout)]).toMatchObject([
      7,
      { reason: { code: "OUTPUT_TOO_LONG" } },
    ]);
    expect(flood.stderr).toContain("error OUTPUT_TOO_LONG");
  });

  test("two tasks at once in one sandbox: the second one is told who is there", async ({ folder }) => {
    write(folder, "long.sh", "echo begun; sleep 1000");
    await up(folder, "runtime: bash\n");
    const child = spawn(swarmProgram, ["sandbox", "run", "long.sh"], placeOf(folder));
    await once(child.stdout, "data");

    const second = await sandbox(folder, "run", "long.sh");
    child.kill("SIGTERM");
    await once(child, "exit");

    expect(second).toMatchObject({ exit: 125, stderr: expect.stringContaining("error SANDBOX_BUSY") });
    expect(second.stderr).toContain(String(child.pid));
  });

  test("binary output passes unchanged, and so does binary input", async ({ folder }) => {
    await up(folder, "{}\n");
    const bytes = Buffer.from(Array.from({ length: 256 }, (_, index) => index));
    const child = spawn(swarmProgram, ["sandbox", "exec", "-i", "--", "cat"], placeOf(folder));
    const collected = child.stdout.toArray();

    child.stdin.end(bytes);

    expect(Buffer.concat(await collected)).toEqual(bytes);
  });
});
