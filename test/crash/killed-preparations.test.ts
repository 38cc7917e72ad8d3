import { describe, expect } from "vitest";
import { workspaceMark } from "../../adapter/workspace-mark.ts";
import { findProgram } from "../../src/host/engine-packages.ts";
import { count } from "../counts.ts";
import { test } from "../fakes/folders.ts";
import {
  cutOffByHand,
  makePreparation,
  newContainer,
  preparationPlaces,
  prepare,
  prepareUntil,
  treeWanted,
  workspaceOf,
} from "../fakes/preparation.ts";

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
    await workspaceMark(preparationPlaces(folder)).around(async () => {});

    expect(prepare(folder)).not.toBe(treeWanted(folder, preparation));
  });

  test("is not where a story begins: its files are made those of the commit before it", async ({
    folder,
  }) => {
    const preparation = makePreparation(folder, { isBegun: false });
    newContainer(folder, preparation);
    cutOffByHand(folder);
    const workspace = workspaceOf(folder, preparation);

    const tree = await workspace.beAt(preparation.good);

    expect(tree).toBe(treeWanted(folder, preparation));
    expect(await workspace.writeTree()).toBe(tree);
  });
});

describe.skipIf(!isRoot || !hasStrace)(
  "kill -9 after a system call of the preparation that changes the file system",
  () => {
    for (const isBegun of [false, true])
      test(`loses nothing of ${isBegun ? "a snapshot" : "a finished story"}, whichever call it is`, async ({
        folder,
      }) => {
        const preparation = makePreparation(folder, { isBegun });
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
