import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { chmod, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { ensureProbeImage } from "../../../src/engine/docker/probe/probe-image.ts";
import type { ContainerEngine } from "../../../src/engine/engine.ts";
import type { PrivateEngine } from "../../../src/engine/private-engine.ts";
import { chooseRuntime, type IsolationMeasurement } from "../../../src/engine/rules/choose-runtime.ts";
import { judgeRuntimeIsolation, preferredRuntimes } from "../../../src/engine/rules/isolation.ts";
import { findProgram } from "../../../src/machine/engine-packages.ts";
import { createSandbox } from "../../../src/sandbox/create-sandbox.ts";
import { specOf } from "../../fakes/engine/containers-suite.ts";
import {
  adapterFile,
  answers,
  dockerAt,
  engineAt,
  openEngine,
  outputOf,
  startEngine,
} from "../../fakes/engine/engine-at.ts";

/** What a runtime is told to make, as far as it is weakened here. */
interface RuntimeConfig {
  hostname?: string;
  readonly process: {
    readonly user: { uid: number; gid: number };
    capabilities: Record<string, string[]>;
    noNewPrivileges: boolean;
  };
  readonly mounts: { destination: string; type: string; source: string; options: string[] }[];
  readonly linux: {
    namespaces: { type: string; path?: string }[];
    seccomp?: object;
    sysctl?: object;
    devices?: object[];
    maskedPaths: string[];
    readonlyPaths: string[];
  };
}

type Edit = (config: RuntimeConfig) => void;

interface WeakRuntime {
  readonly name: string;
  readonly what: string;
  readonly edit: Edit;
  readonly reason: RegExp;
}

// These run in a process of their own, so each stands for itself.
const weakRuntimes: readonly WeakRuntime[] = [
  {
    name: "sysbox-runc",
    what: "plain runc called sysbox-runc",
    edit: () => {},
    reason: /has none of Sysbox's mounts: another runtime uses this name/,
  },
  {
    name: "runsc-x",
    what: "plain runc called after gVisor",
    edit: () => {},
    reason: /the runtime is called runsc-x, but the sandbox uses the kernel of the engine's host/,
  },
  {
    name: "kata-runtime",
    what: "plain runc called kata-runtime",
    edit: () => {},
    reason: /the runtime is called kata-runtime, but the sandbox uses the kernel of the engine's host/,
  },
  {
    name: "weak-capabilities",
    what: "one that gives SYS_ADMIN to everybody",
    edit: ({ process }) => {
      for (const set of ["bounding", "effective", "inheritable", "permitted", "ambient"])
        process.capabilities[set] = ["CAP_SYS_ADMIN"];
    },
    reason: /the agent's processes would have Linux capabilities/,
  },
  {
    name: "weak-privileges",
    what: "one that lets privileges be gained",
    edit: ({ process }) => {
      process.noNewPrivileges = false;
    },
    reason: /could gain privileges/,
  },
  {
    name: "weak-seccomp",
    what: "one without a filter of system calls",
    edit: ({ linux }) => {
      delete linux.seccomp;
    },
    reason: /the sandbox has no seccomp filter/,
  },
  {
    name: "weak-pid",
    what: "one that shows the host's processes",
    edit: ({ linux }) => {
      linux.namespaces = linux.namespaces.filter(({ type }) => type !== "pid");
    },
    reason: /shares the host's pid namespace/,
  },
  {
    name: "weak-net",
    what: "one that gives the host's network",
    edit: ({ linux }) => {
      // The real runc refuses settings for a network that is not the container's own.
      delete linux.sysctl;
      linux.namespaces = linux.namespaces.filter(({ type }) => type !== "network");
    },
    reason: /shares the host's net namespace/,
  },
  {
    name: "weak-other-net",
    what: "one that gives somebody else's network, where none was asked for",
    edit: ({ linux }) => {
      linux.namespaces = linux.namespaces.map(({ type, ...rest }) =>
        type === "network" ? { type, path: "/run/netns/other-network" } : { type, ...rest },
      );
    },
    reason: /shares the host's net namespace/,
  },
  {
    name: "weak-ipc",
    what: "one that shares the host's memory",
    edit: ({ linux }) => {
      linux.namespaces = linux.namespaces.filter(({ type }) => type !== "ipc");
    },
    reason: /shares the host's ipc namespace/,
  },
  {
    name: "weak-uts",
    what: "one that shares the host's name",
    edit: (config) => {
      delete config.hostname;
      config.linux.namespaces = config.linux.namespaces.filter(({ type }) => type !== "uts");
    },
    reason: /shares the host's uts namespace/,
  },
  {
    name: "weak-device",
    what: "one that has a disk of the host",
    edit: ({ linux }) => {
      linux.devices = [
        ...(linux.devices ?? []),
        { path: "/dev/vda", type: "b", major: 254, minor: 0, fileMode: 0o666, uid: 0, gid: 0 },
      ];
    },
    reason: /devices of the host: vda/,
  },
  {
    name: "weak-root",
    what: "one that mounts the host's root",
    edit: ({ mounts }) => {
      mounts.push({ destination: "/host", type: "bind", source: "/", options: ["rbind", "ro"] });
    },
    reason: /has mounts of the host at \/host/,
  },
  {
    name: "weak-dev",
    what: "one that mounts the host's devices, which are of the kernel's making",
    edit: ({ mounts }) => {
      mounts.push({ destination: "/host-dev", type: "bind", source: "/dev", options: ["bind", "ro"] });
    },
    reason: /has mounts of the host at \/host-dev/,
  },
  {
    name: "weak-proc",
    what: "one that mounts the host's processes",
    edit: ({ mounts }) => {
      mounts.push({ destination: "/host-proc", type: "bind", source: "/proc", options: ["rbind", "ro"] });
    },
    reason: /has mounts of the host at \/host-proc/,
  },
  {
    name: "weak-masked",
    what: "one that hides nothing of /proc",
    edit: ({ linux }) => {
      linux.maskedPaths = [];
    },
    reason: /does not protect .*\/proc\/(?:keys|kcore|timer_list)\b.*/,
  },
  {
    name: "weak-readonly",
    what: "one that protects nothing of /proc",
    edit: ({ linux }) => {
      linux.readonlyPaths = [];
    },
    reason: /does not protect .*\/proc\/sys/,
  },
  {
    name: "weak-user",
    what: "one that makes everybody root",
    edit: ({ process }) => {
      process.user.uid = 0;
      process.user.gid = 0;
    },
    reason: /an agent would run as root/,
  },
];

let home = "";
let programs = "";
let realRunc = "";
let endpoint = "";
let engine: ContainerEngine;
let privateOne: PrivateEngine;
let configFile = "";
const path = process.env["PATH"] ?? "";
const otherNetwork = `swarm-${process.pid}`;

/** A runtime that changes what it is told to make, and then has the real runc make it. */
function writeRuntime(name: string, edit: Edit): string {
  const program = join(programs, name);
  writeFileSync(
    program,
    `#!${process.execPath}
const { spawnSync } = require("node:child_process");
const { readFileSync, writeFileSync } = require("node:fs");
const args = process.argv.slice(2);
const bundle = args[args.indexOf("--bundle") + 1];
if (args.includes("create") && args.includes("--bundle")) {
  const config = JSON.parse(readFileSync(bundle + "/config.json", "utf8"));
  (${edit.toString().replaceAll("other-network", otherNetwork)})(config);
  writeFileSync(bundle + "/config.json", JSON.stringify(config));
}
process.exitCode = spawnSync(${JSON.stringify(realRunc)}, args, { stdio: "inherit" }).status ?? 1;
`,
    { mode: 0o755 },
  );
  return program;
}

/** Has the running daemon take over other runtimes. */
async function register(runtimes: Readonly<Record<string, string>>): Promise<void> {
  const entries = Object.entries(runtimes).map(([name, program]) => [name, { path: program }]);
  writeFileSync(configFile, JSON.stringify({ runtimes: Object.fromEntries(entries) }));
  const events = await dockerAt(endpoint).getEvents({ filters: JSON.stringify({ event: ["reload"] }) });
  const { pid } = await privateOne.status();
  process.kill(pid ?? 0, "SIGHUP");
  await once(events, "data");
  (events as NodeJS.ReadableStream & { destroy(): void }).destroy();
}

async function measure(runtime: string): Promise<IsolationMeasurement> {
  const { kernel } = await engine.info();
  return { kind: "measured", found: judgeRuntimeIsolation(runtime, await engine.probe(runtime), kernel) };
}

/** Measured once for all tests that ask for it. */
const measuredByRuntime = new Map<string, Promise<IsolationMeasurement>>();
function measureOnce(runtime: string): Promise<IsolationMeasurement> {
  const measured = measuredByRuntime.get(runtime) ?? measure(runtime);
  measuredByRuntime.set(runtime, measured);
  return measured;
}

const ip = (...args: string[]): void => void execFileSync("ip", args);

beforeAll(async () => {
  home = await mkdtemp(join(tmpdir(), "swarm-"));
  // What maps its users has to get to its files as one of them.
  await chmod(home, 0o711);
  programs = join(home, "bin");
  mkdirSync(programs);
  realRunc = (await findProgram("runc", process.env)) ?? "";
  // The daemon's own runc, so that it can be another one later.
  writeRuntime("runc", () => {});
  process.env["PATH"] = `${programs}${delimiter}${path}`;
  privateOne = engineAt(join(home, "state"), { ...process.env, HOME: home });
  const started = await startEngine(privateOne);
  endpoint = started.endpoint;
  configFile = join(started.folder, "daemon.json");
  engine = openEngine(endpoint);
  // A network namespace that is not the host's, with a way to somewhere.
  ip("netns", "add", otherNetwork);
  ip("-n", otherNetwork, "link", "add", "weak0", "type", "veth", "peer", "name", "weak1");
  ip("-n", otherNetwork, "addr", "add", "198.51.100.9/30", "dev", "weak0");
  for (const name of ["weak0", "weak1"]) ip("-n", otherNetwork, "link", "set", name, "up");
});

afterAll(async () => {
  process.env["PATH"] = path;
  ip("netns", "del", otherNetwork);
  await privateOne.stop({ onStep: () => {} });
  await rm(home, { recursive: true, force: true });
});

describe("runtimes that are weaker than their name or what they are told", () => {
  beforeAll(async () => {
    await register(
      Object.fromEntries(weakRuntimes.map(({ name, edit }) => [name, writeRuntime(name, edit)])),
    );
  });

  test.for(weakRuntimes)("$what is taken by nobody", async ({ name, reason }) => {
    const measurements = new Map([[name, await measureOnce(name)]]);

    for (const wanted of ["auto", "shared-kernel", "userns", "strong"] as const)
      expect(chooseRuntime(wanted, measurements, [name])).toEqual({
        kind: "none",
        found: [expect.stringMatching(reason)],
      });
  });

  test("the plain runc beside them is taken, and each that was passed over is named", async () => {
    const measurements = new Map([["runc", await measureOnce("runc")]]);
    for (const { name } of weakRuntimes) measurements.set(name, await measureOnce(name));
    const order = [...measurements.keys()].reverse();

    expect(chooseRuntime("auto", measurements, order)).toEqual({
      ...{ kind: "chosen", runtime: "runc", level: "shared-kernel" },
      evidence:
        "the sandbox shares the kernel of the engine's host, and root in the sandbox is root on the host",
      rejectedRuntimes: order.slice(0, -1).map((name) => expect.stringMatching(`^${name}: `)),
    });
    expect(weakRuntimes.length).toBeGreaterThanOrEqual(12);
  });

  test("control: by its name the false one would be taken, and what the engine tells of a weak one shows nothing of it", async () => {
    const { runtimes } = await engine.info();
    const { containers } = await engine.open();
    const image = await ensureProbeImage(dockerAt(endpoint), adapterFile);
    const script = "console.log(require('node:fs').readFileSync('/host/etc/hostname', 'utf8'))";
    const command = ["/opt/aimi/node", "--eval", script];

    // `create` reads back what was made, and finds no fault with it.
    const { id } = await containers.create(specOf(image, "weak-root", { command }));
    await containers.start(id);
    const { text } = await outputOf(dockerAt(endpoint).getContainer(id));
    await containers.remove(id);

    expect(preferredRuntimes.find((name) => runtimes.includes(name))).toBe("sysbox-runc");
    expect(text.trim()).toBe(readFileSync("/etc/hostname", "utf8").trim());
  });

  test("and no container of any measurement is left", async () => {
    expect(await dockerAt(endpoint).listContainers({ all: true })).toEqual([]);
  });
});

describe("an engine whose every runtime is weakened", () => {
  const asIs: Edit = () => {};
  const withoutFilter: Edit = ({ linux }) => {
    delete linux.seccomp;
  };

  test("makes no sandbox, of whatever demand: exit 3, all that was found, and nothing created", async () => {
    await register({
      "sysbox-runc": writeRuntime("sysbox-runc", asIs),
      runsc: writeRuntime("runsc", asIs),
      kata: writeRuntime("kata", asIs),
      "kata-runtime": writeRuntime("kata-runtime", asIs),
    });
    writeRuntime("runc", withoutFilter);
    const image = await ensureProbeImage(dockerAt(endpoint), adapterFile);
    const deps = {
      engine,
      probes: { find: async () => null, store: async () => {} },
      adapterId: async () => "x",
      newId: () => "weakened",
    };
    const since = Date.now();

    for (const isolation of ["auto", "userns"] as const)
      await expect(createSandbox(deps, { image, isolation })).rejects.toMatchObject({
        ...{ code: "ISOLATION_UNAVAILABLE", exitCode: 3 },
        details: {
          wanted: isolation,
          found: [
            expect.stringMatching(/^sysbox-runc: the runtime is called sysbox/),
            expect.stringMatching(/^runsc: the runtime is called runsc/),
            expect.stringMatching(/^kata: the runtime is called kata/),
            expect.stringMatching(/^kata-runtime: the runtime is called kata-runtime/),
            expect.stringMatching(/^runc: the sandbox has no seccomp filter/),
          ],
        },
      });

    expect((await engine.info()).runtimes.filter((name) => !preferredRuntimes.includes(name))).toEqual([]);
    expect(await createdSince(since)).toEqual(Array(10).fill(expect.stringMatching(/^aimi-probe-/)));
    expect(await dockerAt(endpoint).listContainers({ all: true })).toEqual([]);
  });

  test("control: with the plain runc back, the same call goes past that gate", async () => {
    writeRuntime("runc", asIs);

    const choice = chooseRuntime("auto", new Map([["runc", await measure("runc")]]));

    expect(choice).toMatchObject({ kind: "chosen", runtime: "runc" });
  });

  /** The names of containers that were created, whether they are still there or not. */
  async function createdSince(since: number): Promise<string[]> {
    const stream = await dockerAt(endpoint).getEvents({
      ...{ since: since / 1000, until: (Date.now() + 2) / 1000 },
      filters: JSON.stringify({ type: ["container"], event: ["create"] }),
    });
    const lines = (await Array.fromAsync(stream)).join("").split("\n").filter(Boolean);
    return lines.map((line) => JSON.parse(line).Actor.Attributes.name);
  }
});

describe.skipIf(!existsSync("/etc/subuid"))("an engine that maps its users", () => {
  test("is measured as userns by its plain runc, and nothing of it is called open", async () => {
    await using mapped = await openMappedEngine(join(home, "mapped"));
    const mappedEngine = openEngine(mapped.endpoint);

    const { kernel } = await mappedEngine.info();
    const found = judgeRuntimeIsolation("runc", await mappedEngine.probe("runc"), kernel);

    expect(found).toEqual({
      ...{ level: "userns", evidence: "root in the sandbox is user 165536 on the host" },
      ...{ falseName: null, unconfined: [], unusable: [] },
    });
    expect(chooseRuntime("userns", new Map([["runc", { kind: "measured", found }]]))).toMatchObject({
      kind: "chosen",
      level: "userns",
    });
  });

  /** A daemon with `--userns-remap`, whose ranges of numbers only it sees. */
  async function openMappedEngine(folder: string): Promise<AsyncDisposable & { endpoint: string }> {
    mkdirSync(folder);
    const write = (name: string, text: string): string => {
      writeFileSync(join(folder, name), text);
      return join(folder, name);
    };
    const range = write("range", "nobody:165536:65536\n");
    const flags = [
      ...["--config-file", write("daemon.json", "{}"), "--host", `unix://${folder}/docker.sock`],
      ...["--data-root", join(folder, "data"), "--exec-root", join(folder, "exec")],
      ...["--pidfile", join(folder, "pid"), "--bridge", "none", "--iptables=false", "--ip6tables=false"],
      ...["--userns-remap", "nobody:nogroup"],
    ];
    const script =
      'mount --bind "$0" /etc/subuid && mount --bind "$0" /etc/subgid && exec dockerd "$@" 2>"$0.log"';
    const daemon = spawn("unshare", ["--mount", "sh", "-c", script, range, ...flags], { stdio: "ignore" });
    while (!(await answers(`unix://${folder}/docker.sock`))) {
      if (daemon.exitCode !== null) throw new Error(readFileSync(`${range}.log`, "utf8"));
      await delay(50);
    }
    return {
      endpoint: `unix://${folder}/docker.sock`,
      async [Symbol.asyncDispose]() {
        const gone = once(daemon, "exit");
        daemon.kill("SIGTERM");
        await gone;
      },
    };
  }
});
