import { spawn } from "node:child_process";
import { once } from "node:events";
import { renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect } from "vitest";
import type { Lock } from "../../src/ports/lock.ts";
import { kernelLock } from "../../src/state/kernel-lock.ts";
import { portableLock } from "../../src/state/portable-lock.ts";
import { test } from "../fakes/folders.ts";

const kinds: Readonly<Record<string, (file: string) => Lock>> = {
  kernel: (file) => kernelLock(file, "swarm test"),
  portable: (file) => portableLock(file, "swarm test"),
};

const holderProgram = fileURLToPath(new URL("../fakes/hold-lock-process.ts", import.meta.url));

/** Another process that holds the lock until it is killed. */
async function holdElsewhere(kind: string, file: string) {
  const child = spawn(process.execPath, [holderProgram, kind, file], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  await once(child.stdout, "data");
  return child;
}

for (const [kind, lockAt] of Object.entries(kinds)) {
  describe(`the ${kind} lock`, () => {
    test("is held by one at a time", async ({ folder }) => {
      const file = join(folder, "state.lock");
      let inside = 0;
      let most = 0;

      await Promise.all(
        Array.from({ length: 20 }, async () => {
          await using _held = await lockAt(file).hold(30_000);
          inside += 1;
          most = Math.max(most, inside);
          await new Promise(setImmediate);
          inside -= 1;
        }),
      );

      expect(most).toBe(1);
    });

    test("is waited for only so long, and the error names the holder", async ({ folder }) => {
      const file = join(folder, "state.lock");
      const holder = await holdElsewhere(kind, file);

      await expect(lockAt(file).hold(200)).rejects.toMatchObject({
        code: "LOCK_TIMEOUT",
        message: expect.stringMatching(`pid ${holder.pid} on .* \\(swarm test holder, since 20`),
      });
      holder.kill("SIGKILL");
    });

    test("says who holds it without disturbing anybody", async ({ folder }) => {
      const file = join(folder, "owner.lock");
      const lock = lockAt(file);

      expect(await lock.holder()).toBeNull();
      {
        await using held = await lock.hold(1_000);
        expect(await lockAt(file).holder()).toMatchObject({ pid: process.pid, command: "swarm test" });
        await held.confirm();
      }
      expect(await lock.holder()).toBeNull();
    });

    test("makes the folder that it needs", async ({ folder }) => {
      await using held = await lockAt(join(folder, "not/there/yet/state.lock")).hold(1_000);

      await held.confirm();
    });

    test("gives up waiting when it is told to", async ({ folder }) => {
      const file = join(folder, "state.lock");
      await using _held = await lockAt(file).hold(1_000);
      const reason = new Error("enough");

      await expect(lockAt(file).hold(60_000, AbortSignal.abort(reason))).rejects.toBe(reason);
    });
  });
}

describe("the kernel lock alone", () => {
  test("is free at once when its holder is killed", async ({ folder }) => {
    const file = join(folder, "state.lock");
    const holder = await holdElsewhere("kernel", file);
    const gone = once(holder, "exit");
    holder.kill("SIGKILL");
    await gone;
    const killed = performance.now();

    await using _held = await kernelLock(file, "next").hold(10_000);

    expect(performance.now() - killed).toBeLessThan(500);
  });

  for (const [name, replace] of [
    ["deleted", (file: string) => rmSync(file)],
    [
      "deleted and made anew",
      (file: string) => {
        rmSync(file);
        writeFileSync(file, "");
      },
    ],
    ["moved away", (file: string) => renameSync(file, `${file}.away`)],
  ] as const) {
    test(`notices that its file was ${name}`, async ({ folder }) => {
      const file = join(folder, "state.lock");
      await using held = await kernelLock(file, "swarm test").hold(1_000);

      replace(file);

      await expect(held.confirm()).rejects.toMatchObject({ code: "LOCK_LOST" });
    });
  }
});
