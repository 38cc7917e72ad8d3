import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { dockerEngine } from "../../src/docker/docker-engine.ts";
import { ensureProbeImage } from "../../src/docker/probe-image.ts";
import { parseProbe } from "../../src/schema/read-document.ts";
import { containerEngineSuite } from "../fakes/container-engine-suite.ts";
import { adapterFile, dockerAt, engineAt, engineHelp, startEngine } from "../fakes/engine-at.ts";

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
    const deps = { adapterFile, parseProbe, help: () => engineHelp(endpoint) };
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

  test("after all of this nothing with our labels is left", async () => {
    const docker = dockerAt(endpoint);

    expect(await docker.listContainers({ all: true })).toEqual([]);
    expect((await docker.listVolumes()).Volumes ?? []).toEqual([]);
  });
});
