import { describe, expect, inject } from "vitest";
import { createSandbox, openSandbox } from "../../../src/app/library.ts";
import { openDockerEngine } from "../../../src/engine/docker/open-engine.ts";
import type { ConnectedEngine } from "../../../src/engine/engine.ts";
import { dockerAt, engineHelp } from "../../fakes/engine/engine-at.ts";
import { listenOutside } from "../../fakes/engine/redirecting-engine.ts";
import { eventually } from "../../fakes/eventually.ts";
import { test } from "../../fakes/folders.ts";

const endpoint = inject("endpoint");
const address = (port: number): string => `../127.0.0.1:${port}/x`;

const verbs: Record<string, (engine: ConnectedEngine, id: string) => Promise<unknown>> = {
  "containers.look": ({ containers }, id) => containers.inspect(id),
  "containers.exec": ({ containers }, id) => containers.exec(id, { command: ["true"], input: false }),
  "containers.remove": ({ containers }, id) => containers.remove(id),
  "images.find": ({ images }, id) => images.find(id),
  "networks.remove": ({ networks }, id) => networks.remove(id),
  "volumes.remove": ({ volumes }, id) => volumes.remove(id),
};

describe("an id that is an address, on a real engine", () => {
  test.for(Object.entries(verbs))("does not leave the process by %s", async ([, verb]) => {
    await using outside = await listenOutside();
    const engine = openDockerEngine(endpoint, await engineHelp(endpoint));
    await expect(async () => verb(engine, address(outside.port))).rejects.toMatchObject({
      code: "SPEC_REFUSED",
    });
    expect(await outside.connections()).toBe(0);
  });

  test("does not leave the process by the library", async () => {
    await using outside = await listenOutside();
    const image = address(outside.port);
    await expect(createSandbox({ engine: endpoint, image })).rejects.toMatchObject({
      code: "OPTION_INVALID",
    });
    for (const id of ["", image])
      await expect(openSandbox(id, { engine: endpoint })).rejects.toMatchObject({ code: "OPTION_INVALID" });
    expect(await outside.connections()).toBe(0);
  });

  test("control: by a plain dockerode it reaches the host that it names", async () => {
    await using outside = await listenOutside();
    const docker = dockerAt(endpoint);
    const asks = [
      () => docker.getContainer(address(outside.port)).inspect(),
      () => docker.getImage(address(outside.port)).inspect(),
      () => docker.getVolume(address(outside.port)).inspect(),
    ];
    for (const [index, ask] of asks.entries()) {
      await ask().catch(() => {});
      await eventually("a connection", async () => (await outside.connections()) > index || null);
    }
  });
});
