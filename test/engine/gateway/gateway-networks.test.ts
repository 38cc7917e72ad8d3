import { spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { openSync } from "node:fs";
import { join } from "node:path";
import { afterEach, describe, expect, inject } from "vitest";
import { baseImage } from "../../../src/engine/rules/base-image.ts";
import { gatewayLabels } from "../../../src/gateway/ensure-gateway.ts";
import { gatewayContainerSpec } from "../../../src/gateway/gateway-container.ts";
import type { GatewayDeps } from "../../../src/gateway/gateway-deps.ts";
import { gatewayNames, workerNetworkName } from "../../../src/gateway/rules/gateway-names.ts";
import { workerNetworks } from "../../../src/gateway/worker-networks.ts";
import { unmountBelow } from "../../../src/machine/mounts.ts";
import type { WorkerTask } from "../../../src/tasks/rules/plan.ts";
import { specOf } from "../../fakes/engine/containers-suite.ts";
import { answers, dockerAt, openEngine } from "../../fakes/engine/engine-at.ts";
import { eventually } from "../../fakes/eventually.ts";
import { test } from "../../fakes/folders.ts";
import { write } from "../../fakes/git/repository.ts";
import { testLabel } from "../../fakes/test-label.ts";

const endpoint = inject("endpoint");
const docker = dockerAt(endpoint);
const { containers, networks, volumes } = await openEngine(endpoint).open();
const signal = AbortSignal.timeout(240_000);

const workers = 40;

const made: (() => Promise<void>)[] = [];

afterEach(async () => {
  for (const take of made.splice(0).reverse()) await take();
});

/** What workers' networks need of a swarm of its own, with its gateway at work. */
async function standUp(): Promise<{
  readonly deps: Pick<GatewayDeps, "swarm" | "sandboxes">;
  readonly gateway: string;
}> {
  const swarm = {
    projectId: randomBytes(16).toString("hex"),
    swarmId: randomBytes(16).toString("hex"),
    worktree: "w",
  };
  const sandboxes = {
    ...{ canPause: true, networks, containers, volumes, runtime: "runc", ownRuntime: "runc" },
    subnetRange: "10.213.0.0/16",
  };
  const deps = { swarm, sandboxes };
  const names = gatewayNames(swarm);
  const marks = gatewayLabels(swarm);
  for (const volume of [names.journalVolume, names.socketVolume]) {
    made.push(() => volumes.remove(volume));
    await volumes.create(volume, marks);
  }
  made.push(() => containers.remove(names.container));
  const spec = gatewayContainerSpec({
    ...{ name: names.container, labels: marks, image: baseImage, runtime: "runc" },
    ...{ volume: names.journalVolume, socketVolume: names.socketVolume },
  });
  const { id } = await containers.create(spec);
  await containers.start(id);
  return { deps, gateway: names.container };
}

const task = { path: ".aimi/tasks/some-tasks.json" } as WorkerTask;

/** What a container on this network hears of the gateway's door, and its own address. */
async function knock(network: string, at: { readonly gateway: string; readonly worker: string }) {
  const ask = `curl -s -m 5 -o /dev/null -w '%{http_code} %{local_ip}\\n' http://${at.gateway}:18877/`;
  const spec = specOf(baseImage, "runc", {
    network: { kind: "named", name: network, address: at.worker },
    command: ["sh", "-c", ask],
  });
  made.push(() => containers.remove(spec.name));
  const { id } = await containers.create(spec);
  await containers.start(id);
  let said = "";
  for await (const { bytes } of containers.logs(id, { follow: true })) said += Buffer.from(bytes).toString();
  return said.trim();
}

describe("networks of workers", () => {
  test(`${workers} at once, each of its own, with the gateway as the only neighbour, are made and taken away again`, async () => {
    const { deps, gateway } = await standUp();
    const own = workerNetworks(deps);
    const names = Array.from(
      { length: workers },
      (_, index) => `aimi-test-${gateway.slice(5, 11)}-w${index}`,
    );
    for (const name of names) made.push(() => networks.remove(workerNetworkName(name)));

    const subnets = await Promise.all(names.map((name) => own.open({ name, task }, signal)));

    expect(new Set(subnets.map(({ subnet }) => subnet)).size).toBe(workers);
    const { NetworkSettings } = await docker.getContainer(gateway).inspect();
    const legs = Object.entries(NetworkSettings.Networks).filter(([name]) => name !== "bridge");
    expect(Object.fromEntries(legs.map(([name, leg]) => [name, leg.IPAddress]))).toEqual(
      Object.fromEntries(names.map((name, index) => [workerNetworkName(name), subnets[index]?.gateway])),
    );
    const looked = await Promise.all(legs.map(([name]) => docker.getNetwork(name).inspect()));
    expect(
      looked.map(({ Internal, Containers }) => [Internal, Object.keys(Containers ?? {}).length]),
    ).toEqual(names.map(() => [true, 1]));
    // The last one, and one that was found again: an owner that comes later knows none of them.
    const again = await workerNetworks(deps).open({ name: names[0] ?? "", task }, signal);
    expect(again).toEqual(subnets[0]);
    for (const index of [0, workers - 1]) {
      const at = subnets[index] ?? again;
      // The gateway is there, and was not told of anybody yet.
      expect(await knock(workerNetworkName(names[index] ?? ""), at)).toBe(`503 ${at.worker}`);
    }

    for (const name of names) await own.close({ name }, signal);

    const left = await networks.names();
    expect(names.map(workerNetworkName).filter((name) => left.includes(name))).toEqual([]);
    const after = await docker.getContainer(gateway).inspect();
    expect(Object.keys(after.NetworkSettings.Networks)).toEqual(["bridge"]);
  });

  test("the pools of an engine as it comes end before that", async ({ folder }) => {
    await using engine = await plainEngine(folder);
    const own = await openEngine(engine.endpoint).open();
    await using undo = new AsyncDisposableStack();
    let count = 0;
    const createAll = async (): Promise<void> => {
      for (; count < workers; count += 1) {
        const name = `aimi-test-pool-${count}`;
        await own.networks.create({ name, labels: { [testLabel]: "pools" }, internal: true, subnet: null });
        undo.defer(() => own.networks.remove(name));
      }
    };

    await expect(createAll()).rejects.toThrow(/pool/);
    expect(count).toBeGreaterThan(10);
  });
});

/** A daemon with its own defaults, beside the tests' engine, which has wider pools; it touches no rules of this machine. */
async function plainEngine(folder: string): Promise<AsyncDisposable & { readonly endpoint: string }> {
  const endpoint = `unix://${join(folder, "docker.sock")}`;
  const log = openSync(join(folder, "log"), "w");
  const flags = [
    ...["--config-file", write(folder, "daemon.json", "{}"), "--host", endpoint],
    ...["--data-root", join(folder, "data"), "--exec-root", join(folder, "exec")],
    ...["--pidfile", join(folder, "pid"), "--bridge", "none", "--iptables=false", "--ip6tables=false"],
  ];
  const daemon = spawn("dockerd", flags, { stdio: ["ignore", log, log] });
  const exited = once(daemon, "exit");
  await eventually("an engine as it comes", async () => ((await answers(endpoint)) ? true : null), 60_000);
  return {
    endpoint,
    async [Symbol.asyncDispose]() {
      daemon.kill("SIGTERM");
      await exited;
      // What it mounted there would keep the folder.
      await unmountBelow(folder);
    },
  };
}
