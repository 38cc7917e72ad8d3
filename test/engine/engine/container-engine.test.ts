import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { dockerEngine } from "../../../src/engine/docker/docker-engine.ts";
import { ensureProbeImage } from "../../../src/engine/docker/probe/probe-image.ts";
import { labels } from "../../../src/engine/engine.ts";
import { containerEngineSuite } from "../../fakes/engine/container-engine-suite.ts";
import {
  adapterFile,
  dockerAt,
  engineAt,
  engineHelp,
  openEngine,
  startEngine,
} from "../../fakes/engine/engine-at.ts";

describe("the Docker engine", () => {
  let folder = "";
  let endpoint = "";

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), "swarm-"));
    ({ endpoint } = await startEngine(engineAt(folder)));
  });

  afterAll(async () => {
    await engineAt(folder).stop({ onStep: () => {} });
    await rm(folder, { recursive: true, force: true });
  });

  containerEngineSuite(async () => {
    const docker = dockerAt(endpoint);
    const deps = { adapterFile, hostFunctions: () => engineHelp(endpoint) };
    return {
      engine: dockerEngine(endpoint, deps),
      silent: dockerEngine(`unix://${folder}/nobody.sock`, deps),
      async put(name, Labels) {
        await docker.createVolume({ Name: name, Labels });
        await docker.createContainer({
          name,
          Image: await ensureProbeImage(docker, adapterFile),
          Cmd: ["/opt/aimi/node"],
          Labels,
        });
      },
      async remove(name) {
        await docker.getContainer(name).remove({ force: true });
        await docker.getVolume(name).remove();
      },
    };
  });

  test("tells the memory limits of sandboxes that run or are paused, and of nothing else", async () => {
    const docker = dockerAt(endpoint);
    const engine = openEngine(endpoint);
    const image = await ensureProbeImage(docker, adapterFile);
    const make = (Labels: Record<string, string>, megabytes: number) =>
      docker.createContainer({
        ...{ Image: image, Labels, Cmd: ["/opt/aimi/node", "--eval", "setInterval(() => {}, 1000)"] },
        HostConfig: { Memory: megabytes * 1024 ** 2, Init: true },
      });
    const sandbox = { [labels.sandbox]: "true" };
    const made = await Promise.all([
      ...[make({ ...sandbox, "org.aimi.role": "worker" }, 300), make(sandbox, 200)],
      ...[make(sandbox, 100), make({ [labels.sandbox]: "no" }, 400)],
    ]);
    const [worker, paused, , foreign] = made;
    for (const container of [worker, paused, foreign]) await container?.start();
    await paused?.pause();

    const inUse = await engine.listSandboxesInUse();
    await paused?.unpause();
    await worker?.kill();
    const afterwards = await engine.listSandboxesInUse();
    for (const container of made) await container.remove({ force: true });

    expect(inUse.map(({ memoryBytes }) => memoryBytes / 1024 ** 2).sort()).toEqual([200, 300]);
    expect(inUse.map((each) => each.labels[labels.role])).toContain("worker");
    expect(afterwards.map(({ memoryBytes }) => memoryBytes / 1024 ** 2)).toEqual([200]);
    expect(await engine.listSandboxesInUse()).toEqual([]);
  });

  test("after all of this nothing with our labels is left", async () => {
    const docker = dockerAt(endpoint);

    expect(await docker.listContainers({ all: true })).toEqual([]);
    expect((await docker.listVolumes()).Volumes ?? []).toEqual([]);
  });
});
