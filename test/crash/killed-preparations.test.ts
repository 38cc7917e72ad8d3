import { existsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect } from "vitest";
import { UncommittedWorkSnapshotWriter } from "../../adapter/workspace/work-snapshots.ts";
import { createWorkspaceReadyMarker } from "../../adapter/workspace/workspace-ready-marker.ts";
import { findProgram } from "../../src/machine/engine-packages.ts";
import { count } from "../counts.ts";
import {
  cutOffByHand,
  makePreparation,
  newContainer,
  preparationPaths,
  prepare,
  prepareUntil,
  treeWanted,
  workspaceOf,
} from "../fakes/adapter/preparation.ts";
import { test } from "../fakes/folders.ts";

const isRoot = process.getuid?.() === 0;
const hasStrace = (await findProgram("strace", process.env)) !== null;

describe.skipIf(!isRoot)("a workspace whose branch is set, and whose index and files are not", () => {
  test("is prepared again", async ({ folder }) => {
    const preparation = makePreparation(folder, { isBegun: false });
    newContainer(folder, preparation);
    cutOffByHand(folder);

    expect(prepare(folder)).toBe(treeWanted(folder, preparation));
  });

  test("control: where its branch counts as a finished preparation, a finished story is gone", async ({
    folder,
  }) => {
    const preparation = makePreparation(folder, { isBegun: false });
    newContainer(folder, preparation);
    cutOffByHand(folder);
    await createWorkspaceReadyMarker(preparationPaths(folder)).whileUnmarked(async () => {});

    expect(prepare(folder)).not.toBe(treeWanted(folder, preparation));
  });

  test("is not where a story begins: its files are made those of the commit before it", async ({
    folder,
  }) => {
    const preparation = makePreparation(folder, { isBegun: false });
    newContainer(folder, preparation);
    cutOffByHand(folder);
    const workspace = workspaceOf(folder, preparation);

    const tree = await workspace.checkOut(preparation.good);

    expect(tree).toBe(treeWanted(folder, preparation));
    expect(await workspace.writeTree()).toBe(tree);
  });
});

describe.skipIf(!isRoot)("a snapshot", () => {
  /** Takes one of a worker that was stopped while its files were moved, or not. */
  async function takenOf(folder: string, { isMoving }: { isMoving: boolean }): Promise<boolean> {
    const preparation = makePreparation(folder, { isBegun: false });
    newContainer(folder, preparation);
    const [paths, workspace] = [preparationPaths(folder), workspaceOf(folder, preparation)];
    prepare(folder);
    const move = new Error("the move is cut off");
    if (isMoving)
      await expect(workspace.spec.mark.whileUnmarked(() => Promise.reject(move))).rejects.toBe(move);
    writeFileSync(join(paths.workspace, "half.txt"), "half\n");
    const author = { name: "Ada", email: "ada@example.invalid" };

    await new UncommittedWorkSnapshotWriter({ paths, workspace, author }).take("US-002");

    return existsSync(join(paths.aimi, "out", "wip.bundle"));
  }

  test("is taken of the files that an agent left", async ({ folder }) => {
    expect(await takenOf(folder, { isMoving: false })).toBe(true);
  });

  test("is not taken of files that were being moved: it would replace the whole one", async ({ folder }) => {
    expect(await takenOf(folder, { isMoving: true })).toBe(false);
  });
});

describe.skipIf(!isRoot || !hasStrace)(
  "kill -9 after a system call of the preparation that changes the file system",
  () => {
    test.for([
      { what: "a finished story", isBegun: false, isInImage: true },
      { what: "a snapshot, in a repository that comes as a bundle", isBegun: true, isInImage: false },
    ])("loses nothing of $what, whichever call it is", async ({ isBegun, isInImage }, { folder }) => {
      const preparation = makePreparation(folder, { isBegun, isInImage });
      newContainer(folder, preparation);
      const calls = await prepareUntil(folder, Number.POSITIVE_INFINITY);
      const kills = Math.min(calls, count.killedPreparations);
      const wanted = treeWanted(folder, preparation);
      const lost: number[] = [];

      for (let index = 0; index < kills; index += 1) {
        const call = 1 + Math.floor((index * calls) / kills);
        newContainer(folder, preparation);
        await prepareUntil(folder, call);
        if (prepare(folder) !== wanted) lost.push(call);
      }

      expect(calls).toBeGreaterThan(50);
      expect(lost).toEqual([]);
    });
  },
);
