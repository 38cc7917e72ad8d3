import { spawn } from "node:child_process";
import { once } from "node:events";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, describe, expect, inject } from "vitest";
import type { SandboxRecord } from "../../../src/contract/sandbox-run.ts";
import { labels } from "../../../src/engine/engine.ts";
import { findSchemaViolations } from "../../../src/schema/find-violations.ts";
import { type Finished, swarmProgram } from "../../fakes/cli/swarm-command.ts";
import { openEngine } from "../../fakes/engine/engine-at.ts";
import { test } from "../../fakes/folders.ts";
import { write } from "../../fakes/git/repository.ts";
import {
  canary,
  destroyUsed,
  listed,
  outputsOf,
  placeOf,
  sandbox,
  up,
} from "../../fakes/sandbox/sandbox-command.ts";

const engine = openEngine(inject("endpoint"));

async function volumesOf({ id }: SandboxRecord): Promise<string[]> {
  return (await engine.open()).volumes.list({ [labels.sandboxId]: id });
}

afterEach(destroyUsed);

describe("a sandbox from the command line", () => {
  test("lives from up to destroy: inputs, a task, outputs, logs, files both ways, numbers", async ({
    folder,
  }) => {
    write(folder, "data/one.txt", "first\n");
    write(folder, "data/two.txt", "second\n");
    write(
      folder,
      "count.py",
      `import os, sys
print("out 1", flush=True)
print("err 1", file=sys.stderr, flush=True)
names = sorted(os.listdir("/inputs/data"))
open("/outputs/names.txt", "w").write(",".join(names))
open("/work/draft.txt", "w").write("kept")
print("out 2", flush=True)
`,
    );
    const record = await up(
      folder,
      'name: demo\nruntime: python\ninputs: ["data/*.txt"]\noutputs: [names.txt, never.txt]\n',
    );
    expect(record).toMatchObject({ status: "created", sandbox: "demo", network: "none", exitCode: null });
    expect(await findSchemaViolations("sandbox-run", record)).toEqual([]);
    expect(readdirSync(join(folder, ".aimi", "sandboxes", record.id)).sort()).toEqual(
      expect.arrayContaining(["events.log", "inputs", "outputs", "run.json", "sandbox.yaml", "work"]),
    );

    const ran = await sandbox(folder, "run", "count.py");
    expect(ran).toMatchObject({ exit: 0, stdout: "out 1\nout 2\n" });
    expect(ran.stderr).toContain("err 1");
    expect(ran.stderr).toContain("! the expected output never.txt is missing");
    expect(outputsOf(folder, record, "names.txt")).toBe("one.txt,two.txt");
    expect(outputsOf(folder, record, "stdout.log")).toBe("out 1\nout 2\n");
    expect(readFileSync(join(folder, ".aimi", "sandboxes", record.id, "work", "draft.txt"), "utf8")).toBe(
      "kept",
    );
    const summary = JSON.parse(outputsOf(folder, record, "summary.json"));
    expect(await findSchemaViolations("sandbox-summary", summary)).toEqual([]);
    expect(summary).toMatchObject({
      ...{ sandboxId: record.id, task: "count.py", exitCode: 0, status: "completed" },
      ...{ outputFiles: ["names.txt"], missingOutputs: ["never.txt"], stderr: "err 1\n" },
    });

    const logged = await sandbox(folder, "logs", "demo");
    expect(logged.stdout).toBe("out 1\nout 2\n");
    expect((await sandbox(folder, "logs", "--stderr")).stdout).toBe("");
    expect((await sandbox(folder, "exec", "--", "cat", "/outputs/names.txt")).stdout).toBe("one.txt,two.txt");
    expect((await sandbox(folder, "exec", "sh", "-c", "exit 42")).exit).toBe(42);
    expect((await sandbox(folder, "exec", "ls", "--json")).stderr).toContain("unrecognized option '--json'");

    expect((await sandbox(folder, "cp", ":/outputs/names.txt", "out.txt")).exit).toBe(0);
    expect(readFileSync(join(folder, "out.txt"), "utf8")).toBe("one.txt,two.txt");
    expect((await sandbox(folder, "cp", "data", `${record.id}:copied`)).exit).toBe(0);
    expect((await sandbox(folder, "exec", "--", "cat", "/work/copied/two.txt")).stdout).toBe("second\n");
    expect((await sandbox(folder, "cp", "data/one.txt", ":copied/")).exit).toBe(0);
    expect((await sandbox(folder, "cp", "data/one.txt", ":new.txt")).exit).toBe(0);
    expect((await sandbox(folder, "exec", "cat", "copied/one.txt", "new.txt")).stdout).toBe("first\nfirst\n");
    write(folder, "out2.txt", "the user's own");
    expect((await sandbox(folder, "cp", ":/outputs/names.txt", "out2.txt")).stderr).toContain(
      "the destination already exists",
    );
    const stats = JSON.parse((await sandbox(folder, "stats", "--json")).stdout);
    expect(stats.memoryBytes).toBeGreaterThan(0);
    const short = record.container?.id.slice(0, 12) ?? "";
    expect((await sandbox(folder, "exec", "--sandbox", short, "--", "true")).exit).toBe(0);

    expect((await sandbox(folder, "destroy")).exit).toBe(0);
    const [line] = readFileSync(join(folder, ".aimi", "sandboxes", "destroyed.ndjson"), "utf8")
      .trim()
      .split("\n");
    expect(JSON.parse(line ?? "")).toMatchObject({ id: record.id, sandbox: "demo", status: "completed" });
    expect(outputsOf(folder, record, "names.txt")).toBe("one.txt,two.txt");
    const after = await sandbox(folder, "exec", "--sandbox", record.id, "--", "true");
    expect(after).toMatchObject({ exit: 125, stderr: expect.stringContaining("error SANDBOX_DESTROYED") });
  });

  test.for([
    ["node", "task.js", 'console.log("node", process.version.split(".")[0])', "node v24\n"],
    ["bash", "task.sh", 'echo "bash ${BASH_VERSION%%.*}"', "bash 5\n"],
    ["python", "task.py", 'import sys; print("python", sys.version_info[0])', "python 3\n"],
  ] as const)("%s runs a task by its interpreter", async ([runtime, file, text, output], { folder }) => {
    write(folder, file, text);
    await up(folder, `runtime: ${runtime}\n`);

    expect(await sandbox(folder, "run", file)).toMatchObject({ exit: 0, stdout: output });
  });

  test("an image of another kind runs a task by its first line", async ({ folder }) => {
    write(folder, "task", "#!/bin/sh\necho by shebang\nexit 7\n");
    await up(folder, "runtime: aimi-sandbox:root\n");

    expect(await sandbox(folder, "run", "task")).toMatchObject({ exit: 7, stdout: "by shebang\n" });
    expect((await listed(folder))[0]).toMatchObject({ status: "failed", exitCode: 7, reason: null });
  });

  test("a stronger isolation is taken on demand, and a task runs under it", async ({ folder, skip }) => {
    skip(!(await engine.info()).runtimes.includes("runsc"), "this machine has no gVisor");
    write(folder, "task.sh", "echo inside > /outputs/a.txt; cat /proc/version");
    const record = await up(folder, "runtime: bash\n", "--isolation", "strong");
    expect(record.isolation).toEqual({ level: "strong", runtime: "runsc" });

    const ran = await sandbox(folder, "run", "task.sh");

    expect(ran).toMatchObject({ exit: 0, stdout: expect.stringMatching(/^Linux version 4\.4/) });
    expect(outputsOf(folder, record, "a.txt")).toBe("inside\n");
  });

  test("the log of a task that runs is followed to its end, both streams in their order", async ({
    folder,
  }) => {
    write(
      folder,
      "talk.sh",
      "for i in 1 2 3; do echo out $i; echo err $i >&2; done; cat /work/go; echo out last",
    );
    await up(folder, "runtime: bash\n");
    await sandbox(folder, "exec", "--", "mkfifo", "/work/go");
    const running = sandbox(folder, "run", "talk.sh");
    const child = spawn(swarmProgram, ["sandbox", "logs", "--follow"], placeOf(folder));
    let followed = "";
    child.stdout.on("data", (text) => {
      followed += String(text);
    });
    const exited = once(child, "exit");

    await sandbox(folder, "exec", "--", "sh", "-c", "echo gone > /work/go");
    await running;
    await exited;

    expect(followed.split("\n").filter(Boolean)).toEqual(["out 1", "out 2", "out 3", "gone", "out last"]);
    const { stdout, stderr } = await sandbox(folder, "logs");
    expect([stdout, stderr]).toEqual(["out 1\nout 2\nout 3\ngone\nout last\n", "err 1\nerr 2\nerr 3\n"]);
  });

  test("inputs cannot be changed, nobody is root, nothing reaches a network, and nothing of the host is inside", async ({
    folder,
  }) => {
    write(folder, "in.txt", "fixed");
    write(folder, ".env", `SECRET=${canary}`);
    await up(folder, "inputs: [in.txt]\nenv: {GREETING: hello}\n");
    const inside = async (script: string): Promise<Finished> =>
      sandbox(folder, "exec", "--", "sh", "-c", script);

    expect((await inside("echo x > /inputs/in.txt")).exit).not.toBe(0);
    expect((await inside("rm -f /inputs/in.txt; cat /inputs/in.txt")).stdout).toBe("fixed");
    expect(
      (
        await inside(
          "id -u; cat /proc/self/status | grep CapEff | cut -f2; cat /sys/class/net/*/operstate | wc -l",
        )
      ).stdout,
    ).toBe("1000\n0000000000000000\n1\n");
    const found = await inside(
      `env; cat /proc/*/environ 2>/dev/null | tr '\\0' '\\n'; grep -rl ${canary.slice(0, 10)}""${canary.slice(10)} /work /inputs /outputs /task /tmp /home /root /etc /opt 2>/dev/null`,
    );
    expect(found.stdout).toContain("GREETING=hello");
    expect(found.stdout).not.toContain(canary);
    expect(found.stdout).not.toContain(folder);
  });

  test("a read-only root leaves work and outputs, and takes its volumes along when it goes", async ({
    folder,
  }) => {
    const record = await up(folder, "readOnlyRoot: true\n");
    const tried = await sandbox(
      folder,
      ...[
        "exec",
        "--",
        "sh",
        "-c",
        "touch /usr/x 2>/dev/null || echo sealed; touch /work/a /outputs/b /tmp/c && echo open",
      ],
    );
    expect(tried.stdout).toBe("sealed\nopen\n");
    expect(await volumesOf(record)).toHaveLength(4);

    await sandbox(folder, "destroy", record.id);

    expect(await volumesOf(record)).toEqual([]);
    expect(readdirSync(join(folder, ".aimi", "sandboxes", record.id, "outputs"))).toEqual(["b"]);
  });

  test("files with names that nobody can show stay inside, and the others come out", async ({ folder }) => {
    write(
      folder,
      "names.sh",
      'cd /outputs; echo a > good.txt; echo b > "$(printf "new\\nline")"; ln -s /etc/passwd link; mkfifo pipe; echo mine > summary.json',
    );
    const record = await up(folder, "runtime: bash\n");

    const ran = await sandbox(folder, "run", "names.sh");

    expect(ran.exit).toBe(0);
    expect(outputsOf(folder, record, "good.txt")).toBe("a\n");
    expect(outputsOf(folder, record, "task-summary.json")).toBe("mine\n");
    const { outputFiles, leftOut } = JSON.parse(outputsOf(folder, record, "summary.json"));
    expect(outputFiles).toEqual(["good.txt", "task-summary.json"]);
    expect(leftOut).toHaveLength(3);
    expect(ran.stderr).toContain("link: the entry is a symbolic link");
  });
});
