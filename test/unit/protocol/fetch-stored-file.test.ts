import { describe, expect, test } from "vitest";
import { packFiles } from "../../../src/archive/pack-files.ts";
import type { ContainerExecution, ContainerFacts, Containers } from "../../../src/engine/containers.ts";
import { SwarmError } from "../../../src/errors/errors.ts";
import { fetchStoredFile } from "../../../src/protocol/fetch-stored-file.ts";

const bundle = Buffer.from("# v2 git bundle\nand so on");
const path = "/aimi/out/US-001.bundle";

interface World {
  state: ContainerFacts["state"] | "absent";
  /** What becomes of the container when a program is started in it. */
  dies?: boolean;
  /** How often a program is refused before the engine says that it has ended. */
  refusals?: number;
  /** Or after the first half of what the program writes. */
  diesMidway?: boolean;
  /** Or before the program starts, of which the engine tells where the program would write. */
  complains?: boolean;
  exitCode?: number;
  archived?: Buffer;
}

function fetch(world: World, wanted = path, maxBytes = 1_000): Promise<Uint8Array[]> {
  const containers: Pick<Containers, "copyOut" | "exec" | "inspect"> = {
    inspect: async (id) =>
      world.state === "absent"
        ? null
        : {
            ...{ id, name: "aimi-x", imageId: "", labels: {}, state: world.state, exitCode: 0 },
            ...{ memoryExhausted: false, startedAt: null, finishedAt: null, diskBytes: null },
          },
    exec: async (id, { command }) => {
      if (world.refusals !== undefined) {
        world.refusals -= 1;
        if (world.refusals === 0) world.state = "exited";
        throw new SwarmError("CONTAINER_NOT_RUNNING", { id, state: "ended" });
      }
      if (world.dies) {
        world.state = "exited";
        throw new SwarmError("CONTAINER_NOT_RUNNING", { id, state: "ended" });
      }
      const complaint = {
        stream: "stderr",
        bytes: Buffer.from("cat: x: No such file or directory"),
      } as const;
      const execution: ContainerExecution = {
        id: "1",
        write: async () => {},
        endInput: async () => {},
        output: {
          async *[Symbol.asyncIterator]() {
            if (world.diesMidway || world.complains) world.state = "exited";
            const half = world.diesMidway ? bundle.subarray(0, bundle.length / 2) : bundle;
            const bytes = world.complains ? Buffer.from("OCI runtime exec failed: exec failed\r\n") : half;
            yield world.exitCode === 1 ? complaint : { stream: "stdout" as const, bytes };
          },
        },
        exit: async () =>
          world.exitCode === 137 || world.diesMidway || world.complains
            ? { kind: "lost", reason: "the container is exited" }
            : { kind: "exited", code: world.exitCode ?? 0 },
        [Symbol.asyncDispose]: async () => {},
      };
      expect(command).toEqual(["cat", "--", wanted]);
      return execution;
    },
    copyOut: () =>
      packFiles([
        {
          ...{ kind: "file", path: "US-001.bundle", mode: 0o600, uid: 0, gid: 0 },
          content: world.archived ?? bundle,
        },
      ]),
  };
  const deps = {
    containers,
    timing: { wait: async () => {} },
  };
  const file = { containerId: "c0ffee", path: wanted, maxBytes };
  return Array.fromAsync(fetchStoredFile(deps, file, new AbortController().signal));
}

describe("a file that an adapter stored", () => {
  test.each<readonly [string, World]>([
    ["running", { state: "running" }],
    ["exited", { state: "exited" }],
    ["dead", { state: "dead" }],
    ["that ends meanwhile", { state: "running", dies: true }],
    ["that ends in its midst", { state: "running", diesMidway: true }],
    [
      "whose engine says in the program's place that it cannot start it",
      { state: "running", complains: true },
    ],
    ["that the engine calls running for a while longer", { state: "running", refusals: 3 }],
  ])("is fetched from a container %s", async (_what, world) => {
    expect(Buffer.concat(await fetch(world))).toEqual(bundle);
  });

  test.each<readonly [string, World, string]>([
    ["paused", { state: "paused" }, "CONTAINER_NOT_RUNNING"],
    ["gone", { state: "absent" }, "CONTAINER_GONE"],
    ["where it is not", { state: "running", exitCode: 1 }, "FILE_NOT_FOUND"],
    ["that dies in the middle", { state: "running", exitCode: 137 }, "EXEC_FAILED"],
  ])("is refused from a container %s", async (_what, world, code) => {
    await expect(fetch(world)).rejects.toMatchObject({ code });
  });

  test.each(["running", "exited"] as const)("is no larger than is accepted, %s", async (state) => {
    expect(Buffer.concat(await fetch({ state }, path, bundle.length))).toEqual(bundle);
    await expect(fetch({ state }, path, bundle.length - 1)).rejects.toMatchObject({
      code: "OUTPUT_TOO_LONG",
    });
  });

  test.each([
    "/etc/shadow",
    "/aimi/out/../request.json",
    "/aimi/out/..",
    "/aimi/out/.",
    "/aimi/out/",
    "/aimi/out/a/b",
    "/aimi/out/a\n",
    "-x",
  ])("lies where such files lie: %j", async (wanted) => {
    await expect(fetch({ state: "running" }, wanted)).rejects.toMatchObject({ code: "PATH_REFUSED" });
  });
});
