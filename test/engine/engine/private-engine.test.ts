import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdirSync, openSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { request } from "node:http";
import { connect } from "node:net";
import { dirname, join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { describe, expect } from "vitest";
import {
  createEngineNetwork,
  type EngineNetwork,
  maxSecondOctet,
  removeEngineNetwork,
} from "../../../src/engine/private/engine-network.ts";
import type { PrivateEngine, PrivateEngineStatus } from "../../../src/engine/private-engine.ts";
import { findProcesses, isAlive } from "../../../src/machine/processes.ts";
import {
  answers,
  dockerAt,
  engineAt,
  firewall,
  links,
  outputOf,
  runNode,
  startEngine,
} from "../../fakes/engine/engine-at.ts";
import { test as base } from "../../fakes/folders.ts";
import { write } from "../../fakes/git/repository.ts";

/** Tests with a private engine of their own that is stopped afterwards, whatever happened. */
const test = base.extend<{ engine: PrivateEngine }>({
  engine: async ({ folder }, use) => {
    const engine = engineAt(join(folder, "state"));
    await use(engine);
    await engine.stop({ onStep: () => {} });
  },
});

async function kill9(pid: number | null): Promise<void> {
  if (pid === null) throw new Error("the engine has a pid");
  // containerd may end by itself when its daemon is gone.
  if (isAlive(pid)) process.kill(pid, "SIGKILL");
  while (isAlive(pid)) await delay(5);
}

const containerdOf = ({ folder }: PrivateEngineStatus): Promise<number[]> =>
  findProcesses(
    /^(dockerd|containerd)/,
    (argv) =>
      argv[0]?.endsWith("containerd") === true && argv.some((argument) => argument.startsWith(folder)),
  );

async function startContainerd({ folder }: PrivateEngineStatus): Promise<void> {
  const child = spawn("containerd", ["--config", join(folder, "exec/containerd/containerd.toml")], {
    stdio: "ignore",
    detached: true,
  });
  child.unref();
  while (!(await answersOn(join(folder, "exec/containerd/containerd.sock")))) await delay(20);
}

function answersOn(path: string): Promise<boolean> {
  const { promise, resolve } = Promise.withResolvers<boolean>();
  const socket = connect(path, () => {
    socket.destroy();
    resolve(true);
  }).on("error", () => resolve(false));
  return promise;
}

describe("the private engine", () => {
  test("starts, is found running by a second start, and leaves nothing of itself behind when it stops", async ({
    engine,
  }) => {
    const before = { firewall: firewall(), links: links() };

    const started = await startEngine(engine);
    expect(started).toMatchObject({ state: "running", pid: expect.any(Number) });
    expect(await startEngine(engine)).toEqual(started);
    expect(firewall()).not.toBe(before.firewall);

    const stopped = await engine.stop({ onStep: () => {} });
    expect(stopped).toMatchObject({ state: "stopped", pid: null });
    expect(isAlive(started.pid ?? 0)).toBe(false);
    expect(firewall()).toBe(before.firewall);
    expect(links()).toEqual(before.links);
    await expect(engine.stop({ onStep: () => {} })).resolves.toMatchObject({ state: "stopped" });
  });

  test("two starts at once give one engine", async ({ engine, folder }) => {
    const [one, two] = await Promise.all([startEngine(engine), startEngine(engineAt(join(folder, "state")))]);

    expect(one.pid).toBe(two.pid);
    expect(
      await findProcesses(
        /^(dockerd|containerd)/,
        (argv) => argv[0]?.endsWith("dockerd") === true && argv.includes(join(one.folder, "data")),
      ),
    ).toEqual([one.pid]);
  });

  test("after a kill -9 of the daemon, with a containerd left over, the next start comes up all the same, with its containers", async ({
    engine,
  }) => {
    const first = await startEngine(engine);
    const container = await runNode(dockerAt(first.endpoint), "setInterval(() => {}, 1000)");
    await kill9(first.pid);
    const [leftOver] = await containerdOf(first);
    // The daemon's death may have taken it along; then another one stands in its way.
    if (leftOver === undefined) await startContainerd(first);

    const second = await startEngine(engine);

    expect(second.pid).not.toBe(first.pid);
    const found = await dockerAt(second.endpoint).getContainer(container.id).inspect();
    expect(found.Id).toBe(container.id);
    await dockerAt(second.endpoint).getContainer(container.id).remove({ force: true });
  });

  test("a reboot (processes, bridge and rules gone, pid file and socket left) is survived", async ({
    engine,
  }) => {
    const others = links();
    const first = await startEngine(engine);
    const bridge = links().find((link) => link.startsWith("aimi-") && !others.includes(link)) ?? "";
    const pidFile = join(first.folder, "docker.pid");
    const containerd = await containerdOf(first);
    await kill9(first.pid);
    for (const pid of containerd) await kill9(pid);
    execFileSync("ip", ["link", "del", bridge]);
    // Those of this engine alone: another one, that of the other tests, goes on.
    const chain = bridge.replace("aimi-", "AIMI-");
    execFileSync("sh", ["-c", `iptables-save | grep -v ${chain} | iptables-restore`]);
    // The number in the pid file belongs to somebody else by now: this very process.
    writeFileSync(pidFile, String(process.pid));
    expect(existsSync(first.endpoint.replace("unix://", ""))).toBe(true);

    const second = await startEngine(engine);

    expect(second).toMatchObject({ state: "running" });
    expect(second.pid).not.toBe(process.pid);
  });

  for (const [name, file] of [
    ["a cut network store", "data/network/files/local-kv.db"],
    ["a cut list of images", "data/image/overlay2/repositories.json"],
  ] as const) {
    test(`${name} in a data folder that was never complete: it comes up with a new one`, async ({
      engine,
      folder,
    }) => {
      write(join(folder, "state", "engine"), file, "{");

      expect(await startEngine(engine)).toMatchObject({ state: "running" });
    });
  }

  test("a network store that was cut later is set aside, and the containers stay", async ({ engine }) => {
    const first = await startEngine(engine);
    const container = await runNode(dockerAt(first.endpoint), "process.exit(3)");
    await container.wait();
    await kill9(first.pid);
    writeFileSync(join(first.folder, "data/network/files/local-kv.db"), "cut");

    const second = await startEngine(engine);

    expect((await dockerAt(second.endpoint).getContainer(container.id).inspect()).State.ExitCode).toBe(3);
  });

  test("what it cannot repair it does not throw away: the error names the log, and --reset moves the data aside", async ({
    engine,
  }) => {
    const first = await startEngine(engine);
    await engine.stop({ onStep: () => {} });
    const images = join(first.folder, "data/image/overlay2/repositories.json");
    writeFileSync(images, "{");

    await expect(startEngine(engine)).rejects.toMatchObject({
      code: "ENGINE_START_FAILED",
      hint: expect.stringContaining(first.log),
    });
    expect(readFileSync(images, "utf8")).toBe("{");

    expect(await engine.start({ mayInstall: false, onStep: () => {}, reset: true })).toMatchObject({
      state: "running",
    });
  });

  test("a state folder with a long path gets a short socket", async ({ folder }) => {
    const engine = engineAt(join(folder, "a".repeat(60), "b".repeat(60)));

    const { endpoint } = await startEngine(engine);

    expect(endpoint.length).toBeLessThan(100);
    expect(await answers(endpoint)).toBe(true);
    await engine.stop({ onStep: () => {} });
    expect(existsSync(dirname(endpoint.replace("unix://", "")))).toBe(false);
  });

  test("its host is at one address, however many containers come and go", async ({ engine }) => {
    const others = links();
    await startEngine(engine);
    const bridge = links().find((link) => link.startsWith("aimi-") && !others.includes(link)) ?? "";
    const addressOf = (link: string): string => readFileSync(`/sys/class/net/${link}/address`, "utf8");
    const before = addressOf(bridge);

    // A bridge that was given none takes the lowest of those that come to it, and who knew the one before is not heard.
    execFileSync("ip", ["link", "add", "name", "aimi-test-a", "type", "veth", "peer", "name", "aimi-test-b"]);
    try {
      execFileSync("ip", ["link", "set", "aimi-test-a", "address", "00:00:00:11:22:33"]);
      execFileSync("ip", ["link", "set", "aimi-test-a", "master", bridge]);
      expect(addressOf(bridge)).toBe(before);
    } finally {
      execFileSync("ip", ["link", "del", "aimi-test-a"]);
    }
  });

  test("containers reach the outside, and containers of another network do not reach them", async ({
    engine,
    folder,
  }) => {
    const { endpoint } = await startEngine(engine);
    const docker = dockerAt(endpoint);
    await using outside = await openOutside(folder);
    const fetching = (host: string, port: number): string =>
      `require("net").connect(${port}, "${host}").on("connect", () => { console.log("reached"); process.exit(0) }).on("error", (e) => { console.log(e.code); process.exit(1) }); setTimeout(() => { console.log("timeout"); process.exit(2) }, 3000)`;

    // The outside has no route to our addresses, so an answer shows that they were translated.
    expect(await outputOf(await runNode(docker, fetching(outside.address, outside.port)))).toMatchObject({
      exit: 0,
    });

    const [one, two] = [
      await docker.createNetwork({ Name: "one", CheckDuplicate: true }),
      await docker.createNetwork({ Name: "two", CheckDuplicate: true }),
    ];
    const server = await runNode(docker, 'require("net").createServer().listen(7000)', {
      NetworkMode: "one",
    });
    const { NetworkSettings } = await server.inspect();
    const address = NetworkSettings.Networks["one"]?.IPAddress ?? "";
    expect(
      await outputOf(await runNode(docker, fetching(address, 7000), { NetworkMode: "one" })),
    ).toMatchObject({ exit: 0 });
    expect(
      await outputOf(await runNode(docker, fetching(address, 7000), { NetworkMode: "two" })),
    ).toMatchObject({ exit: 2 });
    await server.remove({ force: true });
    for (const { Id } of await docker.listContainers({ all: true }))
      await docker.getContainer(Id).remove({ force: true });
    await one.remove();
    await two.remove();
  });

  test("beside a system daemon: its rules are equal before and after, and its published port goes on answering", async ({
    engine,
    folder,
  }) => {
    await using system = await systemDaemon(join(folder, "system"));
    const docker = dockerAt(system.endpoint);
    const server = await runNode(
      docker,
      'require("http").createServer((_, answer) => answer.end("hello")).listen(8080)',
      { PortBindings: { "8080/tcp": [{ HostIp: "127.0.0.1", HostPort: "0" }] } },
      { "8080/tcp": {} },
    );
    const { NetworkSettings } = await server.inspect();
    const port = Number(NetworkSettings.Ports["8080/tcp"]?.[0]?.HostPort);
    await untilAnswers(port);
    const before = firewall();

    await startEngine(engine);
    expect(await get(port)).toBe("hello");
    const ours = firewall()
      .split("\n")
      .filter((line) => !before.includes(line));
    expect(ours.every((line) => line.includes("AIMI-"))).toBe(true);

    await engine.stop({ onStep: () => {} });
    expect(await get(port)).toBe("hello");
    expect(firewall()).toBe(before);
    await server.remove({ force: true });
  });
});

/** A host on the other side of a link, in a network namespace of its own, that knows no way back to our addresses. */
async function openOutside(folder: string): Promise<AsyncDisposable & { address: string; port: number }> {
  const name = `swarm-${process.pid}`;
  const ip = (...args: string[]): void => void execFileSync("ip", args);
  ip("netns", "add", name);
  ip("link", "add", "swarm-out0", "type", "veth", "peer", "name", "swarm-out1", "netns", name);
  ip("addr", "add", "198.51.100.1/30", "dev", "swarm-out0");
  ip("link", "set", "swarm-out0", "up");
  ip("-n", name, "addr", "add", "198.51.100.2/30", "dev", "swarm-out1");
  ip("-n", name, "link", "set", "swarm-out1", "up");
  const script = 'require("net").createServer((s) => s.end()).listen(7000, () => console.log("listening"))';
  const server = spawn("ip", ["netns", "exec", name, process.execPath, "--eval", script], {
    cwd: folder,
    stdio: ["ignore", "pipe", "inherit"],
  });
  await once(server.stdout, "data");
  return {
    address: "198.51.100.2",
    port: 7000,
    async [Symbol.asyncDispose]() {
      server.kill("SIGKILL");
      await once(server, "exit");
      ip("link", "del", "swarm-out0");
      ip("netns", "del", name);
    },
  };
}

/** A daemon as a system has it: with the default bridge and rules of its own. */
async function systemDaemon(folder: string): Promise<AsyncDisposable & { endpoint: string }> {
  mkdirSync(folder, { recursive: true });
  const before = firewall();
  const socket = join(folder, "docker.sock");
  const log = openSync(join(folder, "log"), "w");
  const flags = [
    "--config-file",
    write(folder, "daemon.json", "{}"),
    "--host",
    `unix://${socket}`,
    "--data-root",
    join(folder, "data"),
    "--exec-root",
    join(folder, "exec"),
    "--pidfile",
    join(folder, "pid"),
  ];
  const daemon = spawn("dockerd", flags, { stdio: ["ignore", log, log] });
  while (!(await answers(`unix://${socket}`))) {
    if (daemon.exitCode !== null) throw new Error(readFileSync(join(folder, "log"), "utf8"));
    await delay(50);
  }
  return {
    endpoint: `unix://${socket}`,
    async [Symbol.asyncDispose]() {
      const gone = once(daemon, "exit");
      daemon.kill("SIGTERM");
      await gone;
      // A system daemon leaves its chains and its bridge; the machine that runs the tests must not keep them.
      execFileSync("iptables-restore", { input: before.replace(/^(:\S+ \S+) $/gm, "$1 [0:0]") });
      execFileSync("ip", ["link", "del", "docker0"]);
      rmSync(join(folder, "exec"), { recursive: true, force: true });
    },
  };
}

function get(port: number): Promise<string> {
  const { promise, resolve, reject } = Promise.withResolvers<string>();
  request({ port, host: "127.0.0.1", agent: false }, async (answer) =>
    resolve((await answer.toArray()).join("")),
  )
    .on("error", reject)
    .end();
  return promise;
}

async function untilAnswers(port: number): Promise<void> {
  while ((await get(port).catch(() => "")) === "") await delay(20);
}

describe("the network of an engine", () => {
  test("has one address, though its bridge was left by an engine that was killed and whose folder is gone", async () => {
    const network: EngineNetwork = { bridge: "aimi-left0", chain: "AIMI-left0", secondOctet: maxSecondOctet };
    execFileSync("ip", ["link", "add", "name", network.bridge, "type", "bridge"]);
    try {
      execFileSync("ip", ["addr", "add", `10.${maxSecondOctet - 1}.0.1/24`, "dev", network.bridge]);

      await createEngineNetwork(network);

      const shown = execFileSync("ip", ["-4", "-o", "addr", "show", "dev", network.bridge], {
        encoding: "utf8",
      });
      expect([...shown.matchAll(/inet (\S+)/g)].map(([, address]) => address)).toEqual([
        `10.${maxSecondOctet}.0.1/24`,
      ]);
    } finally {
      await removeEngineNetwork(network);
    }
  });
});
