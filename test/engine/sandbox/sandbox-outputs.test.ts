import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, describe, expect, inject } from "vitest";
import { findSchemaViolations } from "../../../src/schema/find-violations.ts";
import { count } from "../../counts.ts";
import { swarmProgram } from "../../fakes/cli/swarm-command.ts";
import { watchProcess } from "../../fakes/cli/watch-process.ts";
import { openEngine } from "../../fakes/engine/engine-at.ts";
import { test } from "../../fakes/folders.ts";
import { write } from "../../fakes/git/repository.ts";
import { destroyUsed, listed, outputsOf, placeOf, sandbox, up } from "../../fakes/sandbox/sandbox-command.ts";

const engine = openEngine(inject("endpoint"));
const { runtimes } = await engine.info();

/** How each is asked for. */
const demands = { runc: [], runsc: ["--isolation", "strong"] } as const;

afterEach(destroyUsed);

/** Begins with a file that must come out, whatever the rest does. */
const good = 'import os, subprocess, sys\nopen("/outputs/good.txt", "w").write("good")\n';

/** A program that outlives the task and writes to a file that takes long to read. */
const busyWriter = `${good}
open("/outputs/busy", "wb").write(b"x" * (64 << 20))
writer = 'import os, sys\\nfile = os.open("/outputs/busy", os.O_WRONLY)\\nprint("begun", flush=True)\\nos.close(1)\\nwhile True: os.pwrite(file, b"y", 0)'
child = subprocess.Popen([sys.executable, "-c", writer], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, start_new_session=True)
child.stdout.readline()
`;

const hidden = `${good}
os.mkdir("/outputs/hidden")
open("/outputs/hidden/a.txt", "w").write("unread")
os.chmod("/outputs/hidden", 0)
`;

const sparse = `${good}
os.truncate(os.open("/outputs/holes*", os.O_CREAT | os.O_WRONLY), 1 << 40)
open("/outputs/last.txt", "w").write("last")
`;

const oddNames = `${good}
os.chdir("/outputs")
name = "line\\n" + "x" * 245
for _ in range(200):
    os.mkdir(name)
    os.chdir(name)
for number in range(15_000): open(str(number), "w").close()
`;

const manyFiles = `${good}
os.makedirs("/outputs/many", exist_ok=True)
for number in range(${count.outputFiles}): open(f"/outputs/many/result-{number}.txt", "w").close()
`;

/** `swarm sandbox run`, and the most memory that it was seen to have. */
async function runWatched(
  folder: string,
  file: string,
): Promise<{ readonly exit: number; readonly stderr: string; readonly memoryBytes: number }> {
  const child = spawn(swarmProgram, ["sandbox", "run", file], placeOf(folder));
  const used = watchProcess(child.pid ?? 0);
  child.stdout.resume();
  const said = child.stderr.toArray();
  const [exit] = await once(child, "exit");
  return { exit, stderr: Buffer.concat(await said).toString(), ...used() };
}

for (const [runtime, demand] of Object.entries(demands))
  describe.skipIf(!runtimes.includes(runtime))(`what a task leaves in /outputs under ${runtime}`, () => {
    test.for<[what: string, task: string, missed: RegExp]>([
      ["a program that still writes", busyWriter, /^outputs\/busy: .*changed/],
      ["a folder that nobody may read", hidden, /^outputs\/hidden: .*Permission denied/],
      ["a sparse file of a terabyte", sparse, /^outputs\/holes\*: .*larger/],
    ])("%s costs nothing else, and is told by name", async ([_what, task, missed], { folder }) => {
      write(folder, "task.py", task);
      const record = await up(folder, "runtime: python\n", ...demand);

      const ran = await sandbox(folder, "run", "task.py");

      expect(outputsOf(folder, record, "good.txt"), ran.stderr).toBe("good");
      expect(ran.exit, ran.stderr).toBe(9);
      expect(ran.stderr).toContain("error OUTPUTS_INCOMPLETE: ");
      const summary = JSON.parse(outputsOf(folder, record, "summary.json"));
      expect(await findSchemaViolations("sandbox-summary", summary)).toEqual([]);
      expect(summary).toMatchObject({
        exitCode: 0,
        status: "failed",
        reason: { code: "OUTPUTS_INCOMPLETE" },
      });
      expect(summary.missed).toEqual([expect.stringMatching(missed)]);
      expect((await listed(folder))[0]).toMatchObject({ status: "failed", exitCode: 0 });
    });

    test("what could not be read does not hide the task's own exit code", async ({ folder }) => {
      write(folder, "task.py", `${hidden}sys.exit(3)\n`);
      const record = await up(folder, "runtime: python\n", ...demand);

      const ran = await sandbox(folder, "run", "task.py");

      expect(ran).toMatchObject({ exit: 3, stderr: expect.stringContaining("outputs/hidden: ") });
      expect(outputsOf(folder, record, "good.txt")).toBe("good");
    });

    test("a sparse file that is met after the sandbox has ended costs only what follows it, and that is kept", async ({
      folder,
    }) => {
      write(folder, "task.py", `${sparse}import time; time.sleep(1000)\n`);
      const record = await up(folder, "runtime: python\nttl: 5s\n", ...demand);

      const ran = await sandbox(folder, "run", "task.py");

      expect(ran, ran.stderr).toMatchObject({ exit: 7 });
      expect(outputsOf(folder, record, "good.txt")).toBe("good");
      const { missed } = JSON.parse(outputsOf(folder, record, "summary.json"));
      expect(missed).toEqual([expect.stringMatching(/^outputs\/holes\*: .*left out all later entries/)]);
      const { containers } = await engine.open();
      expect(await containers.inspect(record.container?.id ?? "")).not.toBeNull();
    });

    // Under gVisor the other tests show that outputs come out, and its files take a minute to write.
    if (runtime === "runsc" && count.runtimes === 1) return;

    test(
      "15 000 files below long names that nobody can show are counted, and no command breaks at them",
      async ({ folder }) => {
        write(folder, "plain.py", good);
        write(folder, "task.py", oddNames);
        const record = await up(folder, "runtime: python\n", ...demand);
        const plain = await runWatched(folder, "plain.py");

        const ran = await runWatched(folder, "task.py");

        expect(plain).toMatchObject({ exit: 0 });
        expect(ran.exit, ran.stderr.slice(0, 2_000)).toBe(9);
        // The archive has 750 MB, nearly all of it names. How soon the pieces that were read are freed varies.
        expect(ran.memoryBytes - plain.memoryBytes).toBeLessThan(96 * 1024 ** 2);
        expect(outputsOf(folder, record, "good.txt")).toBe("good");
        const summary = JSON.parse(outputsOf(folder, record, "summary.json"));
        const { leftOut, missed, more } = summary;
        expect(leftOut.length + more.leftOut + missed.length + more.missed).toBe(15_200);
        expect(JSON.stringify(summary).length).toBeLessThan(300_000);
        expect((await sandbox(folder, "ls")).exit).toBe(0);
        expect((await sandbox(folder, "stats")).exit).toBe(0);
        expect(readFileSync(join(folder, ".aimi/sandboxes", record.id, "run.json")).length).toBeLessThan(
          10_000,
        );
      },
      10 * 60_000,
    );

    test("many plain files come out twice, and are counted where they are no longer listed", async ({
      folder,
    }) => {
      write(folder, "plain.py", good);
      write(folder, "task.py", manyFiles);
      const record = await up(folder, "runtime: python\n", ...demand);
      const plain = await runWatched(folder, "plain.py");

      for (const _turn of ["the first", "one that takes the place of the first"]) {
        const ran = await runWatched(folder, "task.py");

        expect(ran.exit, ran.stderr.slice(0, 2_000)).toBe(0);
        expect(ran.memoryBytes - plain.memoryBytes).toBeLessThan(64 * 1024 ** 2);
        const { outputFiles, more } = JSON.parse(outputsOf(folder, record, "summary.json"));
        expect(outputFiles.length + more.outputFiles).toBe(count.outputFiles + 1);
      }
    });
  });
