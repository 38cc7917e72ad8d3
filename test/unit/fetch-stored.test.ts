import { describe, expect, test } from "vitest";
import { fetchStored } from "../../src/acp/fetch-stored.ts";
import { packFiles } from "../../src/archive/pack-files.ts";
import { readArchive } from "../../src/archive/read-archive.ts";
import { SwarmError } from "../../src/domain/errors.ts";
import type { ContainerFacts, Containers, Execution } from "../../src/ports/containers.ts";

const bundle = Buffer.from("# v2 git bundle\nand so on");
const path = "/aimi/out/US-001.bundle";

interface World {
  state: ContainerFacts["state"] | "absent";
  /** What becomes of the container when a program is started in it. */
  dies?: boolean;
  exitCode?: number;
  archived?: Buffer;
}

function fetch(world: World, wanted = path, mostBytes = 1_000): Promise<Uint8Array[]> {
  const containers: Pick<Containers, "copyOut" | "exec" | "look"> = {
    look: async (id) =>
      world.state === "absent"
        ? null
        : {
            ...{ id, name: "aimi-x", imageId: "", labels: {}, state: world.state, exitCode: 0 },
            ...{ memoryExhausted: false, startedAt: null, finishedAt: null, diskBytes: null },
          },
    exec: async (id, { command }) => {
      if (world.dies) {
        world.state = "exited";
        throw new SwarmError("CONTAINER_NOT_RUNNING", { id, state: "ended" });
      }
      const complaint = {
        stream: "stderr",
        bytes: Buffer.from("cat: x: No such file or directory"),
      } as const;
      const execution: Execution = {
        id: "1",
        write: async () => {},
        endInput: async () => {},
        output: {
          async *[Symbol.asyncIterator]() {
            yield world.exitCode === 1 ? complaint : { stream: "stdout" as const, bytes: bundle };
          },
        },
        exit: async () =>
          world.exitCode === 137
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
    readArchive: (archive: AsyncIterable<Uint8Array>, limits: Parameters<typeof readArchive>[1]["limits"]) =>
      readArchive(archive, { limits }),
  };
  const file = { containerId: "c0ffee", path: wanted, mostBytes };
  return Array.fromAsync(fetchStored(deps, file, new AbortController().signal));
}

describe("a file that an adapter stored", () => {
  test.each<readonly [string, World]>([
    ["running", { state: "running" }],
    ["exited", { state: "exited" }],
    ["dead", { state: "dead" }],
    ["that ends meanwhile", { state: "running", dies: true }],
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
