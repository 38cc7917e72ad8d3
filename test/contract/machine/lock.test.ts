import { spawn } from "node:child_process";
import { once } from "node:events";
import { readdirSync, renameSync, rmSync, utimesSync, writeFileSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect } from "vitest";
import { kernelLock } from "../../../src/machine/locks/kernel-lock.ts";
import type { Lock } from "../../../src/machine/locks/lock.ts";
import { portableLock } from "../../../src/machine/locks/portable-lock.ts";
import { test } from "../../fakes/folders.ts";

interface Kind {
  readonly lockAt: (file: string, waits?: { readonly staleMs: number }) => Lock;
  /** Where the lock lies while it is held. */
  readonly heldAt: (file: string) => string;
  /** How soon the lock of a killed holder can be had. */
  readonly freeWithinMs: number;
}

const staleMs = 2_000;
const kinds: Readonly<Record<string, Kind>> = {
  kernel: {
    lockAt: (file) => kernelLock(file, "swarm test"),
    heldAt: (file) => file,
    freeWithinMs: 500,
  },
  portable: {
    lockAt: (file, waits) => portableLock(file, "swarm test", waits),
    heldAt: newestClaim,
    freeWithinMs: staleMs + 6_000,
  },
};

function newestClaim(file: string): string {
  const [folder, prefix] = [dirname(file), `${basename(file)}.`];
  const numbers = readdirSync(folder).flatMap((name) =>
    name.startsWith(prefix) ? [Number(name.slice(prefix.length))] : [],
  );
  return `${file}.${Math.max(...numbers)}`;
}

const holderProgram = fileURLToPath(new URL("../../fakes/machine/hold-lock-process.ts", import.meta.url));

/** Another process that holds the lock until it is killed. */
async function holdElsewhere(kind: string, file: string) {
  const child = spawn(process.execPath, [holderProgram, kind, file], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  await once(child.stdout, "data");
  return child;
}

for (const [kind, { lockAt, heldAt, freeWithinMs }] of Object.entries(kinds)) {
  describe(`the ${kind} lock`, () => {
    test("is held by one at a time", async ({ folder }) => {
      const file = join(folder, "state.lock");
      let inside = 0;
      let most = 0;

      await Promise.all(
        Array.from({ length: 20 }, async () => {
          await using _held = await lockAt(file).acquire(30_000);
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

      await expect(lockAt(file).acquire(200)).rejects.toMatchObject({
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
        await using held = await lock.acquire(1_000);
        expect(await lockAt(file).holder()).toMatchObject({ pid: process.pid, command: "swarm test" });
        await held.confirm();
      }
      expect(await lock.holder()).toBeNull();
    });

    test("makes the folder that it needs", async ({ folder }) => {
      await using held = await lockAt(join(folder, "not/there/yet/state.lock")).acquire(1_000);

      await held.confirm();
    });

    test("gives up waiting when it is told to", async ({ folder }) => {
      const file = join(folder, "state.lock");
      await using _held = await lockAt(file).acquire(1_000);
      const reason = new Error("enough");

      await expect(lockAt(file).acquire(60_000, AbortSignal.abort(reason))).rejects.toBe(reason);
    });

    test("is free soon after its holder is killed", async ({ folder }) => {
      const file = join(folder, "state.lock");
      const holder = await holdElsewhere(kind, file);
      const gone = once(holder, "exit");
      holder.kill("SIGKILL");
      await gone;
      const killed = performance.now();

      await using _held = await lockAt(file, { staleMs }).acquire(10_000);

      expect(performance.now() - killed).toBeLessThan(freeWithinMs);
    });

    for (const [name, replace] of [
      ["deleted", (path: string) => rmSync(path)],
      [
        "deleted and made anew",
        (path: string) => {
          rmSync(path);
          writeFileSync(path, "");
        },
      ],
      ["moved away", (path: string) => renameSync(path, `${path}.away`)],
    ] as const) {
      test(`notices that its file was ${name}`, async ({ folder }) => {
        const file = join(folder, "state.lock");
        await using held = await lockAt(file).acquire(1_000);
        await held.confirm();

        replace(heldAt(file));

        await expect(held.confirm()).rejects.toMatchObject({ code: "LOCK_LOST" });
      });
    }
  });
}

describe("the portable lock alone", () => {
  const lockAt = kinds["portable"]?.lockAt ?? expect.fail();
  /** As it is when a holder was stopped for that long; it renews it when it goes on. */
  const setBack = (file: string, byMs: number): void => {
    const then = new Date(Date.now() - byMs);
    utimesSync(newestClaim(file), then, then);
  };

  for (const [name, byMs] of [
    ["was not renewed for too long", 20_000],
    ["is from the future, since a clock has jumped", -86_400_000],
  ] as const)
    test(`a claim that ${name} is followed by the next, and its holder told so`, async ({ folder }) => {
      const file = join(folder, "state.lock");
      await using first = await lockAt(file).acquire(1_000);
      setBack(file, byMs);

      await using second = await lockAt(file).acquire(1_000);

      await expect(first.confirm()).rejects.toMatchObject({ code: "LOCK_LOST" });
      await second.confirm();
    });

  test("a holder that has lost it takes nothing from the next when it lets go", async ({ folder }) => {
    const file = join(folder, "state.lock");
    const first = await lockAt(file).acquire(1_000);
    setBack(file, 20_000);
    await using second = await lockAt(file).acquire(1_000);

    await first[Symbol.asyncDispose]();

    await second.confirm();
    await expect(lockAt(file).acquire(0)).rejects.toMatchObject({ code: "LOCK_TIMEOUT" });
  });

  test("one that is held for longer than a claim may be stale is renewed, and kept", async ({ folder }) => {
    const file = join(folder, "state.lock");
    await using held = await lockAt(file, { staleMs }).acquire(1_000);

    await expect(lockAt(file, { staleMs }).acquire(2 * staleMs)).rejects.toMatchObject({
      code: "LOCK_TIMEOUT",
    });

    await held.confirm();
  });

  test("leaves one claim behind, however often it was held", async ({ folder }) => {
    const file = join(folder, "state.lock");
    for (let turn = 0; turn < 12; turn += 1) {
      await using held = await lockAt(file).acquire(1_000);
      await held.confirm();
    }

    expect(readdirSync(folder)).toEqual(["state.lock.12"]);
  });
});
