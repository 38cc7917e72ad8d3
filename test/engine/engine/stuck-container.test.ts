import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { describe, expect, inject, test } from "vitest";
import type { Containers } from "../../../src/engine/containers.ts";
import { openDockerEngine } from "../../../src/engine/docker/open-engine.ts";
import { baseImage } from "../../../src/engine/rules/base-image.ts";
import { SwarmError } from "../../../src/errors/errors.ts";
import { killStartingPrograms } from "../../../src/machine/kill-starting-programs.ts";
import { isFull } from "../../counts.ts";
import { specOf } from "../../fakes/engine/containers-suite.ts";
import { dockerAt, engineHelp, openEngine } from "../../fakes/engine/engine-at.ts";
import { eventually } from "../../fakes/eventually.ts";

const endpoint = inject("endpoint");
const docker = dockerAt(endpoint);
const help = await engineHelp(endpoint);
const { containers } = await openEngine(endpoint).open();
/** The same engine, where its processes are not ours to end. */
const elsewhere = openDockerEngine(endpoint, { ...help, killStartingPrograms: async () => 0 }).containers;
const tries = 50;
/** A thaw takes milliseconds. */
const thawMs = 5_000;

/** A container that was frozen by hand while programs began in it: what passes no gate meets sooner or later. */
async function stuckContainer(): Promise<{ readonly id: string } & AsyncDisposable> {
  const { id } = await containers.create(specOf(baseImage, "runc"));
  const container = docker.getContainer(id);
  await using undo = new AsyncDisposableStack();
  undo.defer(async () => {
    await killStartingPrograms(id, { onlyFrozen: false });
    await containers.remove(id);
  });
  await containers.start(id);
  for (let round = 0; round < tries; round += 1) {
    const begun = Array.from({ length: 3 }, async () => {
      const abortSignal = AbortSignal.timeout(2 * thawMs);
      const exec = await container.exec({ Cmd: ["true"], AttachStdout: true, abortSignal });
      (await exec.start({ hijack: true, stdin: false, abortSignal })).on("error", () => {}).resume();
    });
    for (const each of begun) each.catch(() => {});
    await Promise.race(begun).catch(() => {});
    // The kernel may refuse to freeze what changes too quickly, and the engine may wait for such a beginning without an end.
    await container.pause({ abortSignal: AbortSignal.timeout(thawMs) }).catch(() => {});
    const thawing = container.unpause({ abortSignal: AbortSignal.timeout(thawMs) });
    const hasNoAnswer = await thawing.then(
      () => false,
      ({ statusCode }: { readonly statusCode?: number }) => statusCode === undefined,
    );
    if (hasNoAnswer && (await isPaused(id))) {
      const disposed = undo.move();
      return { id, [Symbol.asyncDispose]: () => disposed.disposeAsync() };
    }
    // In another deadlock the engine believes that the container runs.
    if (hasNoAnswer) await killStartingPrograms(id, { onlyFrozen: true });
    await Promise.allSettled(begun);
  }
  throw new Error(`none of ${tries} pauses met a beginning`);
}

async function isPaused(id: string): Promise<boolean> {
  const found = await docker.listContainers({ all: true, filters: { id: [id], status: ["paused"] } });
  return found.length > 0;
}

async function outputIn(id: string, at: Containers): Promise<string> {
  await using execution = await at.exec(id, { command: ["echo", "on"], input: false });
  const chunks = await Array.fromAsync(execution.output);
  return Buffer.concat(chunks.map(({ bytes }) => bytes)).toString();
}

describe("a container that was frozen while a program began in it", () => {
  test("is thawed by the next unpause, which ends that program", async () => {
    await using stuck = await stuckContainer();

    await containers.unpause(stuck.id);

    expect((await containers.inspect(stuck.id))?.state).toBe("running");
    expect(await outputIn(stuck.id, containers)).toBe("on\n");
    await containers.pause(stuck.id);
    await containers.unpause(stuck.id);
  });

  test("is removed like any other", async () => {
    await using stuck = await stuckContainer();

    await containers.remove(stuck.id);

    expect(await containers.inspect(stuck.id)).toBeNull();
  });

  // The engine is waited for to the end of the call's time.
  if (isFull)
    test("is told of where its engine's processes are not ours to end, with what then helps", async () => {
      await using stuck = await stuckContainer();
      const { id } = stuck;

      const failures = await Promise.all(
        [
          elsewhere.unpause(id),
          elsewhere.inspect(id),
          elsewhere.stop(id, { graceMs: 0 }),
          outputIn(id, elsewhere),
        ].map((asked) => asked.then(() => null).catch((error: unknown) => error)),
      );
      const [unpaused] = failures;
      const said = unpaused instanceof SwarmError ? unpaused.hint : undefined;
      const [, pattern = ""] = /`pkill -KILL -f '(.*?)'`/.exec(said ?? "") ?? [];
      await promisify(execFile)("pkill", ["-KILL", "-f", pattern]);

      expect(failures).toMatchObject([
        { code: "CONTAINER_STUCK" },
        { code: "CONTAINER_STUCK" },
        { code: "CONTAINER_STUCK" },
        { code: expect.stringMatching(/^CONTAINER_(STUCK|NOT_RUNNING)$/) },
      ]);
      await eventually("a container that goes on", async () =>
        (await elsewhere.inspect(id))?.state === "paused" ? null : true,
      );
    });
});
