import { mkdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import { afterEach, describe, expect, inject } from "vitest";
import type { SandboxRecord } from "../../../src/contract/sandbox-run.ts";
import { baseImage } from "../../../src/engine/rules/base-image.ts";
import { createRecordSeal } from "../../../src/sandbox/sandbox-records.ts";
import { specOf } from "../../fakes/engine/containers-suite.ts";
import { openEngine } from "../../fakes/engine/engine-at.ts";
import { test } from "../../fakes/folders.ts";
import { write } from "../../fakes/git/repository.ts";
import { destroyUsed, listed, sandbox, up } from "../../fakes/sandbox/sandbox-command.ts";

const engine = openEngine(inject("endpoint"));

afterEach(destroyUsed);

/** A record as a repository from somewhere could bring it along. */
async function plant(folder: string, changes: Partial<SandboxRecord>): Promise<SandboxRecord> {
  const real = await up(folder, "{}\n");
  await sandbox(folder, "destroy", "--purge", real.id);
  const planted: SandboxRecord = { ...real, id: "planted0", sandbox: "planted", ...changes };
  const place = join(folder, ".aimi", "sandboxes", planted.id);
  for (const name of ["inputs", "work", "outputs"]) mkdirSync(join(place, name), { recursive: true });
  // Even where it could seal what it brings along.
  const seal = await createRecordSeal(inject("stateFolder"))(JSON.stringify(planted));
  writeFileSync(join(place, "run.json"), JSON.stringify({ ...planted, seal }));
  return planted;
}

describe("a sandbox's record that somebody else wrote", () => {
  test("cannot make us remove or use a container that is not that sandbox's", async ({ folder }) => {
    const { containers } = await engine.open();
    const foreign = await containers.create(specOf(baseImage, "runc"));
    await containers.start(foreign.id);
    try {
      await plant(folder, { container: { id: foreign.id, image: "x" }, status: "running" });

      const used = await sandbox(folder, "exec", "--sandbox", "planted0", "--", "true");
      const destroyed = await sandbox(folder, "destroy", "--all");

      expect(used.exit).toBe(125);
      expect(destroyed.exit).toBe(0);
      expect((await containers.inspect(foreign.id))?.state).toBe("running");
    } finally {
      await containers.remove(foreign.id);
    }
  });

  test("cannot make us speak to an engine that nobody has chosen", async ({ folder }) => {
    let calls = 0;
    const server = createServer((socket) => {
      calls += 1;
      socket.destroy();
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    const address = server.address();
    const port = typeof address === "object" ? address?.port : 0;
    try {
      await plant(folder, { engine: `tcp://127.0.0.1:${port}` });

      const shown = await sandbox(folder, "ls");
      const used = await sandbox(folder, "exec", "--", "true");

      expect(shown.stderr).toContain("none of your settings does");
      expect(used).toMatchObject({ exit: 125, stderr: expect.stringContaining("error ENGINE_UNREACHABLE") });
      expect(calls).toBe(0);
    } finally {
      server.close();
    }
  });

  test.for(["outputs", "work", "events.log", "outputs/stdout.log"])(
    "cannot lead our writing elsewhere by a link at %s",
    async (name, { folder }) => {
      const precious = write(folder, "precious/file.txt", "precious");
      const planted = await plant(folder, {});
      const place = join(folder, ".aimi", "sandboxes", planted.id, name);
      await import("node:fs/promises").then(({ rm }) => rm(place, { recursive: true, force: true }));
      symlinkSync(/log$/.test(name) ? precious : join(folder, "precious"), place);

      const shown = await sandbox(folder, "ls", "--all");
      await sandbox(folder, "destroy", "--all", "--purge");

      expect(shown.stderr).toContain("the path is a symbolic link, so swarm does not use this sandbox");
      expect(readFileSync(precious, "utf8")).toBe("precious");
    },
  );

  test("that does not fit is told and left alone, and the others work", async ({ folder }) => {
    const good = await up(folder, "{}\n");
    write(folder, ".aimi/sandboxes/broken00/run.json", "{");
    write(folder, ".aimi/sandboxes/broken01/run.json", JSON.stringify({ ...good, status: "odd" }));

    const { stderr, stdout } = await sandbox(folder, "ls", "--json");

    expect(JSON.parse(stdout).map(({ id }: SandboxRecord) => id)).toEqual([good.id]);
    expect(stderr).toContain("broken00");
    expect(stderr).toContain("status must be one of");
    expect(await listed(folder)).toHaveLength(1);
  });
});
