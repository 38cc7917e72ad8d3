import { randomBytes } from "node:crypto";
import { expect, test } from "vitest";
import { type ContainerEngine, labels } from "../../../src/engine/engine.ts";
import { findSchemaViolations } from "../../../src/schema/find-violations.ts";

export interface OpenedEngine {
  readonly engine: ContainerEngine;
  /** Makes a container, and a volume of the same name, as somebody else would. */
  readonly put: (name: string, found: Readonly<Record<string, string>>) => Promise<void>;
  readonly remove: (name: string) => Promise<void>;
  /** The same kind of engine where nobody answers. */
  readonly silent: ContainerEngine;
}

/** What every engine must do, the fake as well as the real one. */
export function containerEngineSuite(open: () => Promise<OpenedEngine>): void {
  test("tells who it is, the same each time", async () => {
    const { engine } = await open();

    const info = await engine.info();

    expect(info).toMatchObject({
      endpoint: engine.endpoint,
      id: expect.stringMatching(/./),
      runtimes: expect.arrayContaining(["runc"]),
    });
    expect((await engine.info()).id).toBe(info.id);
  });

  test("shows the containers and volumes of one worktree, and of no other", async () => {
    const { engine, put, remove } = await open();
    const projectId = randomBytes(16).toString("hex");
    const name = (suffix: string): string => `aimi-test-${projectId.slice(0, 8)}-${suffix}`;
    const labelsOf = (project: string, worktree: string): Record<string, string> => ({
      [labels.sandbox]: "true",
      [labels.project]: project,
      [labels.worktree]: worktree,
    });
    await put(name("ours"), labelsOf(projectId, "main"));
    await put(name("other-worktree"), labelsOf(projectId, "other"));
    await put(name("other-project"), labelsOf("f".repeat(32), "main"));
    await put(name("foreign"), {});

    const scope = { projectId, worktree: "main" };
    const [containers, volumes] = [await engine.listContainers(scope), await engine.volumes(scope)];
    for (const suffix of ["ours", "other-worktree", "other-project", "foreign"]) await remove(name(suffix));

    expect(containers).toMatchObject([
      { name: name("ours"), state: "created", labels: labelsOf(projectId, "main") },
    ]);
    expect(volumes).toEqual([{ name: name("ours"), labels: labelsOf(projectId, "main") }]);
    expect(await engine.listContainers(scope)).toEqual([]);
  });

  test("measures a runtime from inside, and leaves nothing behind", async () => {
    const { engine } = await open();

    const probe = await engine.probe("runc");

    expect(await findSchemaViolations("probe", probe)).toEqual([]);
    expect(probe).toMatchObject({ capabilities: "0000000000000000", noNewPrivileges: true, seccomp: 2 });
    expect(probe.steps.filter(({ error }) => error !== null)).toEqual([]);
  });

  test("says in its own words that a runtime does not exist", async () => {
    const { engine } = await open();

    await expect(engine.probe("no-such-runtime")).rejects.toMatchObject({
      code: "ENGINE_FAILED",
      message: expect.stringContaining("no-such-runtime"),
    });
  });

  test("where nobody answers, every question ends in ENGINE_UNREACHABLE", async () => {
    const { silent } = await open();

    for (const ask of [
      () => silent.info(),
      () => silent.listContainers({ projectId: "x", worktree: "main" }),
      () => silent.listSandboxesInUse(),
      () => silent.volumes({ projectId: "x", worktree: "main" }),
    ]) {
      await expect(ask()).rejects.toMatchObject({ code: "ENGINE_UNREACHABLE", exitCode: 3 });
    }
  });
}
