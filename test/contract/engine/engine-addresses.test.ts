import Docker from "dockerode";
import { describe, expect, vi } from "vitest";
import type { ContainerSpec } from "../../../src/engine/containers.ts";
import { dockerImages } from "../../../src/engine/docker/build/docker-images.ts";
import { createEngineCaller, type EngineConnection } from "../../../src/engine/docker/call-engine.ts";
import { dockerContainers } from "../../../src/engine/docker/docker-containers.ts";
import { dockerNetworks, dockerVolumes } from "../../../src/engine/docker/docker-networks.ts";
import { createDockerodeClient } from "../../../src/engine/docker/dockerode-client.ts";
import { openDockerEngine } from "../../../src/engine/docker/open-engine.ts";
import type { ConnectedEngine } from "../../../src/engine/engine.ts";
import type { ContainerPauseLock } from "../../../src/machine/locks/pause-lock.ts";
import { listenOutside, type Outside, redirectingEngine } from "../../fakes/engine/redirecting-engine.ts";
import { eventually } from "../../fakes/eventually.ts";
import { test } from "../../fakes/folders.ts";

const open: AsyncDisposable = { async [Symbol.asyncDispose]() {} };
const gate: ContainerPauseLock = { lockForStart: async () => open, lockForPause: async () => open };

/** The port over a dockerode that was told only where the engine is. */
function plainly(endpoint: string): ConnectedEngine {
  const docker = new Docker({ socketPath: endpoint.replace("unix://", "") });
  const deps: EngineConnection = {
    ...{ docker, endpoint, gate },
    call: createEngineCaller({ docker, endpoint, killStartingPrograms: async () => 0 }),
  };
  return {
    containers: dockerContainers(deps),
    images: dockerImages(deps),
    networks: dockerNetworks(deps),
    volumes: dockerVolumes(deps),
  };
}

const guarded = (endpoint: string): ConnectedEngine =>
  openDockerEngine(endpoint, { gate, killStartingPrograms: async () => 0 });

async function readAll(pieces: AsyncIterable<unknown>): Promise<void> {
  for await (const _ of pieces);
}
async function* nothing(): AsyncGenerator<Uint8Array> {}
const spec = { command: ["true"], input: false };
const terminal = { command: ["true"], columns: 80, rows: 24 };
const good = "aimi-x";

/** Each verb that an id or a name goes into as a part of the address. */
const inAddresses: Record<string, (engine: ConnectedEngine, id: string) => Promise<unknown>> = {
  "containers.start": ({ containers }, id) => containers.start(id),
  "containers.stop": ({ containers }, id) => containers.stop(id, { graceMs: 0 }),
  "containers.pause": ({ containers }, id) => containers.pause(id),
  "containers.unpause": ({ containers }, id) => containers.unpause(id),
  "containers.remove": ({ containers }, id) => containers.remove(id),
  "containers.look": ({ containers }, id) => containers.inspect(id),
  "containers.look with its disk": ({ containers }, id) => containers.inspect(id, { withDisk: true }),
  "containers.exec": ({ containers }, id) => containers.exec(id, spec),
  "containers.openTerminal": ({ containers }, id) => containers.openTerminal(id, terminal),
  "containers.copyIn": ({ containers }, id) => containers.copyIn(id, "/", nothing()),
  "containers.copyOut": ({ containers }, id) => readAll(containers.copyOut(id, "/")),
  "containers.logs": ({ containers }, id) => readAll(containers.logs(id, { follow: false })),
  "containers.logs followed": ({ containers }, id) => readAll(containers.logs(id, { follow: true })),
  "containers.stats": ({ containers }, id) => containers.stats(id),
  "containers.commit": ({ containers }, id) => containers.commit(id, { tag: "aimi-x:y", labels: {} }),
  "images.find": ({ images }, id) => images.find(id),
  "images.tag": ({ images }, id) => images.tag(id, "aimi-x:y"),
  "images.remove": ({ images }, id) => images.remove(id),
  "networks.connect": ({ networks }, id) => networks.connect(good, id, "10.0.0.2"),
  "networks.remove": ({ networks }, id) => networks.remove(id),
  "volumes.remove": ({ volumes }, id) => volumes.remove(id),
};

/** Each verb that sends one in a search or a body. */
const elsewhere: Record<string, (engine: ConnectedEngine, id: string) => Promise<unknown>> = {
  "containers.create by name": ({ containers }, id) => containers.create({ ...creation, name: id }),
  "containers.create of an image": ({ containers }, id) => containers.create({ ...creation, image: id }),
  "containers.create with a volume": ({ containers }, id) =>
    containers.create({ ...creation, volumes: [{ name: id, path: "/x" }] }),
  "containers.create in a network": ({ containers }, id) =>
    containers.create({ ...creation, network: { kind: "named", name: id } }),
  "containers.commit to a tag": ({ containers }, id) => containers.commit(good, { tag: id, labels: {} }),
  "images.pull": ({ images }, id) => images.pull(id),
  "images.tag by a tag": ({ images }, id) => images.tag(good, id),
  "images.import": ({ images }, id) => images.import(nothing(), { tag: id, labels: {} }),
  "images.build": ({ images }, id) =>
    images.build(
      {
        ...{ context: nothing(), tags: [id], labels: {}, args: {}, builder: "classic" },
        ...{ network: false, fresh: false },
      },
      () => {},
    ),
  "networks.create": ({ networks }, id) =>
    networks.create({ name: id, labels: {}, internal: true, subnet: null }),
  "networks.connect to a network": ({ networks }, id) => networks.connect(id, good, "10.0.0.2"),
  "volumes.create": ({ volumes }, id) => volumes.create(id, {}),
};

const creation: ContainerSpec = {
  ...{ name: good, labels: {}, image: "debian:12", command: ["true"], env: {}, user: "0:0", workdir: "/" },
  ...{ runtime: "runc", network: { kind: "none" }, capabilities: [], readOnlyRoot: false, privileged: false },
  ...{ tmpBytes: 1, volumes: [] },
  limits: {
    ...{ cpus: 1, memoryBytes: 1, swapBytes: 0, pids: 16, descriptors: 64, diskBytes: 1, files: 1 },
    logBytes: 1024,
  },
};

/** Those that the daemon's router sends to the host that they name. */
const leading = (port: number): readonly string[] => [
  `../127.0.0.1:${port}/x`,
  `/../127.0.0.1:${port}/x`,
  `./../127.0.0.1:${port}/x`,
  `x/../../127.0.0.1:${port}/x`,
  `x//../../127.0.0.1:${port}`,
];

const hostile = (port: number): readonly string[] => [
  ...leading(port),
  ...[
    "",
    ".",
    "..",
    "/",
    "//",
    "x/",
    "/x",
    "x/y/../z",
    "x\\y",
    "-x",
    "_x",
    ".x",
    " x",
    "x ",
    "x y",
    "x\n",
    "x\0",
  ],
  ...[
    `//127.0.0.1:${port}/x`,
    `http://127.0.0.1:${port}/x`,
    `%2e%2e/127.0.0.1:${port}/x`,
    "..%2fx",
    "x%2f..%2fy",
  ],
  ...["x?force=1", "x#y", "x\r\nHost: y", "ümlaut", "x\u2044y", "x@y", "*", "${x}", "x".repeat(300)],
];

/** What came of it; a call that is not answered is a mistake of its own. */
async function outcomeOf(call: () => Promise<unknown>): Promise<string> {
  return call().then(
    () => "it passed",
    (error: { code?: string; message: string }) => error.code ?? error.message,
  );
}

describe("an id that is an address", () => {
  test.for(Object.entries({ ...inAddresses, ...elsewhere }))(
    "does not leave the process by %s",
    async ([, verb], { folder }) => {
      await using outside = await listenOutside();
      await using engine = await redirectingEngine(folder);
      const port = guarded(engine.endpoint);
      const passed: string[] = [];
      for (const id of hostile(outside.port)) {
        engine.asked.length = 0;
        const outcome = await outcomeOf(() => verb(port, id));
        const asked = engine.asked.filter((line) => line !== "GET /info");
        if (outcome !== "SPEC_REFUSED" || asked.length > 0)
          passed.push(`${JSON.stringify(id)}: ${outcome}, ${asked.join(", ")}`);
      }
      expect(await outside.connections()).toBe(0);
      expect(passed).toEqual([]);
    },
  );

  test.for(Object.entries(inAddresses))(
    "control: by %s of a plain dockerode it reaches the host that it names",
    async ([, verb], { folder }) => {
      await using outside = await listenOutside();
      await using engine = await redirectingEngine(folder);
      for (const [index, id] of leading(outside.port).entries()) {
        await outcomeOf(() => verb(plainly(engine.endpoint), id));
        await eventually(`a connection for ${id}`, async () => (await outside.connections()) > index || null);
      }
    },
  );

  test.for([...["ab".repeat(32), "ab".repeat(6), "aimi-sandbox-abc-0", "aimi-w1.net", "a_b.c-d"]])(
    "is not what %s is",
    async (id, { folder }) => {
      await using engine = await redirectingEngine(folder);
      expect(await guarded(engine.endpoint).containers.inspect(id)).toBeNull();
      expect(engine.asked).toEqual([`GET /containers/${id}/json`]);
    },
  );

  test.for([
    ...["debian:12", "ghcr.io/owner/image:1.0", "localhost:5000/a/b_c", `sha256:${"ab".repeat(32)}`],
    ...["ab".repeat(6), "aimi-sandbox:base", `debian@sha256:${"ab".repeat(32)}`],
  ])("is not what the image %s is", async (reference, { folder }) => {
    await using engine = await redirectingEngine(folder);
    expect(await guarded(engine.endpoint).images.find(reference)).toBeNull();
    expect(engine.asked).toEqual([`GET /images/${reference}/json`]);
  });
});

describe("an engine that sends its callers elsewhere", () => {
  const places = (outside: Outside): Record<string, string> => ({
    "a host": `//127.0.0.1:${outside.port}/x`,
    "a URL": `http://127.0.0.1:${outside.port}/x`,
    "a host that does not exist": "http://nowhere.invalid/x",
    "another protocol": "ftp://127.0.0.1/x",
    "no protocol": "mailto:x",
    itself: "/containers/aimi-x/json",
  });

  test.for(Object.entries(inAddresses))("is not followed by %s", async ([, verb], { folder }) => {
    await using outside = await listenOutside();
    await using engine = await redirectingEngine(folder);
    const port = guarded(engine.endpoint);
    for (const status of [301, 302, 307, 308])
      for (const [what, location] of Object.entries(places(outside))) {
        engine.elsewhere = { status, location };
        engine.asked.length = 0;
        expect(await outcomeOf(() => verb(port, good)), what).toMatch(/^(?:ENGINE|CONTAINER_START)_FAILED$/);
        expect(engine.asked.filter((line) => line !== "GET /info")).toHaveLength(1);
      }
    expect(await outside.connections()).toBe(0);
  });

  test("control: a plain dockerode goes there", async ({ folder }) => {
    await using outside = await listenOutside();
    await using engine = await redirectingEngine(folder);
    engine.elsewhere = { status: 301, location: `//127.0.0.1:${outside.port}/x` };
    await outcomeOf(() => plainly(engine.endpoint).containers.inspect(good));
    await eventually("a connection", async () => (await outside.connections()) === 1 || null);
  });

  test("is another one than DOCKER_HOST names, where an endpoint is given", async ({ folder }) => {
    await using outside = await listenOutside();
    await using engine = await redirectingEngine(folder);
    vi.stubEnv("DOCKER_HOST", `tcp://127.0.0.1:${outside.port}`);
    try {
      await outcomeOf(() => createDockerodeClient(engine.endpoint).listContainers());
      expect(engine.asked).toEqual(["GET /containers/json"]);
      expect(await outside.connections()).toBe(0);

      // The control.
      await outcomeOf(() => plainly(engine.endpoint).containers.inspect(good));
      await eventually("a connection", async () => (await outside.connections()) === 1 || null);
    } finally {
      vi.unstubAllEnvs();
    }
  });
});
