import { describe, expect } from "vitest";
import { count } from "../counts.ts";
import { test } from "../fakes/folders.ts";
import { ended, startProgram } from "../fakes/machine/processes.ts";
import { swarmOf } from "../fakes/state/records.ts";
import { stateAt } from "../fakes/state/state-at.ts";
import { updateOutcome } from "../fakes/state/update-outcome.ts";

async function updateTogether(
  folder: string,
  how: string,
  processes: number,
  updates: number,
): Promise<void> {
  await stateAt(folder).store.create(swarmOf(processes));
  const children = Array.from({ length: processes }, (_, index) =>
    startProgram("state/update-process", folder, how, String(index + 1), String(updates)),
  );
  const codes = await Promise.all(children.map(ended));
  expect(codes).toEqual(Array(processes).fill(0));
}

describe("many processes that update one state", () => {
  const updates = count.updateProcesses * count.updatesPerProcess;

  test(`${count.updateProcesses} processes × ${count.updatesPerProcess} updates: none is lost, none is refused`, async ({
    folder,
  }) => {
    await updateTogether(folder, "kernel", count.updateProcesses, count.updatesPerProcess);

    expect(await updateOutcome(folder)).toEqual({ acknowledged: updates, lost: 0, refused: [] });
    expect((await stateAt(folder).store.read()).revision).toBe(updates);
  });

  test("the portable lock loses none either, as long as nobody is paused", async ({ folder }) => {
    await updateTogether(folder, "portable", 6, 20);

    expect(await updateOutcome(folder)).toEqual({ acknowledged: 120, lost: 0, refused: [] });
  });

  test("control: without a lock updates are lost", async ({ folder }) => {
    await updateTogether(folder, "unlocked", 6, 40);

    expect((await updateOutcome(folder)).lost).toBeGreaterThan(0);
  });
});
