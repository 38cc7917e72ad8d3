import { randomBytes } from "node:crypto";
import { hostname } from "node:os";
import { join } from "node:path";
import type Docker from "dockerode";
import { afterAll, beforeAll, describe, expect, inject } from "vitest";
import type { ContainerSpec } from "../../../src/engine/containers.ts";
import { findConfinementBreaches } from "../../../src/engine/docker/confinement-breaches.ts";
import { containerOptions } from "../../../src/engine/docker/container-options.ts";
import {
  chooseSeccompProfile,
  seccompOption,
  seccompProfile,
} from "../../../src/engine/docker/seccomp/seccomp-profile.ts";
import { baseImage } from "../../../src/engine/rules/base-image.ts";
import { specOf } from "../../fakes/engine/containers-suite.ts";
import { dockerAt, openEngine, outputOf } from "../../fakes/engine/engine-at.ts";
import { engineProxy } from "../../fakes/engine/engine-proxy.ts";
import { test } from "../../fakes/folders.ts";
import { testLabel } from "../../fakes/test-label.ts";

const endpoint = inject("endpoint");
const docker = dockerAt(endpoint);
const mark = { [testLabel]: "breaches" };
const profile = chooseSeccompProfile(await docker.info(), { runtime: "runc" });

/** dockerode's types lack some of what an engine takes. */
type Change = Partial<Omit<Docker.ContainerCreateOptions, "HostConfig">> & {
  readonly HostConfig?: Readonly<Record<string, unknown>>;
};

/** One way of making a container weaker than it was asked for. */
interface Weakening {
  readonly way: string;
  readonly change: Change | ((neighbour: Neighbour) => Change);
  /** What is asked for, where that is not the usual. */
  readonly asked?: Partial<ContainerSpec>;
  /** What must be said of it. */
  readonly says: RegExp;
  /** What an engine says that does not even make it. */
  readonly refusal?: RegExp;
}

/** Another container, and a volume that is really a folder of the host. */
interface Neighbour {
  readonly id: string;
  readonly volume: string;
  readonly remove: () => Promise<void>;
}

async function openNeighbour(): Promise<Neighbour> {
  const name = `aimi-test-${randomBytes(6).toString("hex")}`;
  const container = await docker.createContainer({
    ...{ name, Image: baseImage, Cmd: ["sleep", "600"], Labels: mark, Volumes: { "/data": {} } },
    HostConfig: { NetworkMode: "none", IpcMode: "shareable" },
  });
  await docker.createVolume({ Name: name, Labels: mark, Driver: "local", DriverOpts: folderOfTheHost });
  return {
    id: container.id,
    volume: name,
    async remove() {
      await container.remove({ force: true, v: true });
      await docker.getVolume(name).remove();
    },
  };
}

const folderOfTheHost = { type: "none", o: "bind", device: "/" };
const permissive = 'seccomp={"defaultAction":"SCMP_ACT_ALLOW"}';
const host = (HostConfig: Record<string, unknown>): Change => ({ HostConfig });
const options = (...SecurityOpt: string[]): Change => host({ SecurityOpt });
const limited = (way: string, HostConfig: Record<string, unknown>, says: RegExp): Weakening => ({
  ...{ way, says },
  change: host(HostConfig),
});

const files: readonly Weakening[] = [
  { way: "the host's root", change: host({ Binds: ["/:/host"] }), says: /folders of the host.*\/:\/host/ },
  {
    way: "the engine's socket",
    change: host({ Binds: ["/var/run/docker.sock:/var/run/docker.sock:ro"] }),
    says: /docker\.sock/,
  },
  {
    way: "a bind among the mounts",
    change: host({ Mounts: [{ Type: "bind", Source: "/", Target: "/host", ReadOnly: true }] }),
    says: /\/ is mounted at \/host/,
  },
  {
    way: "a nameless volume that is a folder of the host",
    change: host({
      Mounts: [
        {
          ...{ Type: "volume", Target: "/host" },
          VolumeOptions: { DriverConfig: { Name: "local", Options: folderOfTheHost } },
        },
      ],
    }),
    says: /not requested is mounted at \/host/,
  },
  {
    way: "a folder of the host in the place of our volume",
    asked: { volumes: [{ name: "aimi-test-work", path: "/work" }] },
    change: host({
      Mounts: [
        {
          ...{ Type: "volume", Source: "aimi-test-work", Target: "/work" },
          VolumeOptions: { DriverConfig: { Name: "local", Options: folderOfTheHost } },
        },
      ],
    }),
    says: /not requested is mounted at \/work/,
  },
  {
    way: "somebody else's volume",
    change: ({ volume }) => host({ Mounts: [{ Type: "volume", Source: volume, Target: "/data" }] }),
    says: /is mounted at \/data/,
  },
  {
    way: "somebody else's volume, as a bind",
    change: ({ volume }) => host({ Binds: [`${volume}:/data`] }),
    says: /is mounted at \/data/,
  },
  {
    way: "our volume at another place",
    asked: { volumes: [{ name: "aimi-test-work", path: "/work" }] },
    change: host({ Mounts: [{ Type: "volume", Source: "aimi-test-work", Target: "/etc" }] }),
    says: /mounted at \/etc/,
  },
  {
    way: "another container's volumes",
    change: ({ id }) => host({ VolumesFrom: [id] }),
    says: /another container's volumes/,
  },
  {
    way: "a root filesystem that can be written",
    asked: { readOnlyRoot: true },
    change: host({ ReadonlyRootfs: false }),
    says: /root filesystem is writable/,
  },
];

const namespaces: readonly Weakening[] = [
  { way: "the host's processes", change: host({ PidMode: "host" }), says: /shares its PID namespace: host/ },
  {
    way: "another container's processes",
    change: ({ id }) => host({ PidMode: `container:${id}` }),
    says: /shares its PID namespace: container:/,
  },
  { way: "the host's memory", change: host({ IpcMode: "host" }), says: /shares its IPC namespace: host/ },
  { way: "memory that others may share", change: host({ IpcMode: "shareable" }), says: /shareable/ },
  {
    way: "another container's memory",
    change: ({ id }) => host({ IpcMode: `container:${id}` }),
    says: /shares its IPC namespace: container:/,
  },
  { way: "the host's name", change: host({ UTSMode: "host" }), says: /shares its host name/ },
  { way: "the host's users", change: host({ UsernsMode: "host" }), says: /user namespace is host/ },
  {
    way: "a control group of its own choice",
    change: host({ CgroupParent: "/system.slice" }),
    says: /parent of the container's control group is \/system\.slice/,
    refusal: /cgroup-parent/,
  },
];

const networks: readonly Weakening[] = [
  {
    way: "the host's network",
    change: host({ NetworkMode: "host" }),
    says: /the container's network is host/,
  },
  { way: "a way out", change: host({ NetworkMode: "bridge" }), says: /the container's network is bridge/ },
  {
    way: "the engine's default network",
    change: host({ NetworkMode: "default" }),
    says: /the container's network is/,
  },
  {
    way: "another container's network",
    change: ({ id }) => host({ NetworkMode: `container:${id}` }),
    says: /the container's network is container:/,
    refusal: /conflicting options/,
  },
  {
    way: "a connection beside the network that it names",
    change: { NetworkingConfig: { EndpointsConfig: { bridge: {} } } },
    says: /the container is connected to bridge/,
    refusal: /network mode|endpoint/i,
  },
  {
    way: "a link to another container",
    change: ({ id }) => host({ Links: [`${id}:other`] }),
    says: /linked to other hosts/,
    refusal: /links/,
  },
  { way: "names of other hosts", change: host({ ExtraHosts: ["metadata:169.254.169.254"] }), says: /linked/ },
  {
    way: "a port of the host",
    change: {
      ExposedPorts: { "80/tcp": {} },
      HostConfig: { PortBindings: { "80/tcp": [{ HostPort: "0" }] } },
    },
    says: /publishes ports/,
  },
  { way: "all its ports", change: host({ PublishAllPorts: true }), says: /publishes ports/ },
];

const powers: readonly Weakening[] = [
  { way: "everything", change: host({ Privileged: true }), says: /the container is privileged/ },
  {
    way: "a disk of the host",
    change: host({
      Devices: [{ PathOnHost: "/dev/vda", PathInContainer: "/dev/vda", CgroupPermissions: "rwm" }],
    }),
    says: /devices of the host/,
  },
  {
    way: "a request for devices",
    change: host({ DeviceRequests: [{ Driver: "nvidia", Count: -1, Capabilities: [["gpu"]] }] }),
    says: /devices of the host/,
    refusal: /device driver/,
  },
  {
    way: "the right to all devices",
    change: host({ DeviceCgroupRules: ["a *:* rwm"] }),
    says: /devices of the host/,
  },
  { way: "SYS_ADMIN", change: host({ CapAdd: ["SYS_ADMIN"] }), says: /capabilities SYS_ADMIN/ },
  { way: "CAP_NET_ADMIN", change: host({ CapAdd: ["CAP_NET_ADMIN"] }), says: /capabilities NET_ADMIN/ },
  { way: "all capabilities", change: host({ CapAdd: ["ALL"] }), says: /capabilities ALL/ },
  {
    way: "one capability more than was asked for",
    asked: { capabilities: ["SETUID"] },
    change: host({ CapAdd: ["SETUID", "DAC_OVERRIDE"] }),
    says: /capabilities DAC_OVERRIDE$/,
  },
  { way: "the engine's capabilities", change: host({ CapDrop: [] }), says: /default capabilities/ },
  { way: "most of them", change: host({ CapDrop: ["NET_RAW"] }), says: /default capabilities/ },
  {
    way: "no filter of system calls",
    change: options("no-new-privileges", "seccomp=unconfined"),
    says: /seccomp=unconfined/,
  },
  {
    way: "a filter of system calls that lets all through",
    change: options("no-new-privileges", permissive),
    says: /security options were changed: seccomp=.*ALLOW/,
  },
  {
    way: "a filter of ours that lets 32-bit programs open any socket",
    change: options("no-new-privileges", seccompOption(seccompProfile({ programs32Bit: true }))),
    says: /security options were changed: seccomp=/,
  },
  {
    way: "a filter that is ours but for one call",
    change: options("no-new-privileges", seccompOption(seccompProfile().replace('"accept"', '"keyctl"'))),
    says: /security options were changed: seccomp=/,
  },
  {
    way: "the engine's filter in the place of ours",
    change: options("no-new-privileges"),
    says: /lacks the requested seccomp profile/,
  },
  {
    way: "no AppArmor",
    change: options("no-new-privileges", "apparmor=unconfined"),
    says: /apparmor=unconfined/,
  },
  { way: "no SELinux", change: options("no-new-privileges", "label=disable"), says: /label=disable/ },
  {
    way: "an SELinux type that may do all",
    change: options("no-new-privileges", "label=type:spc_t"),
    says: /label=type:spc_t/,
  },
  { way: "privileges to gain", change: options(), says: /could gain privileges/ },
  {
    way: "privileges to gain, said in other words",
    change: options("no-new-privileges", "no-new-privileges=0"),
    says: /security options were changed: no-new-privileges=0/,
  },
  {
    way: "nothing of /proc hidden",
    change: options("no-new-privileges", "systempaths=unconfined"),
    says: /the container can read/,
    refusal: /systempaths=unconfined/,
  },
  {
    way: "no hidden paths",
    change: host({ MaskedPaths: [] }),
    says: /the container can read .*\/proc\/kcore/,
  },
  {
    way: "one hidden path for show",
    change: host({ MaskedPaths: ["/proc/acpi"] }),
    says: /the container can read .*\/proc\/keys/,
  },
  { way: "a /proc that can be written", change: host({ ReadonlyPaths: [] }), says: /write to .*\/proc\/sys/ },
  {
    way: "one path of it protected for show",
    change: host({ ReadonlyPaths: ["/proc/bus"] }),
    says: /write to .*\/proc\/sysrq-trigger/,
  },
  {
    way: "kernel settings",
    change: host({ Sysctls: { "kernel.msgmax": "65536" } }),
    says: /kernel settings/,
  },
  { way: "root's group", change: host({ GroupAdd: ["0"] }), says: /in the groups 0/ },
  { way: "root", change: { User: "" }, says: /runs as root/ },
  { way: "another user", change: { User: "1000:0" }, says: /runs as 1000:0/ },
  {
    way: "another runtime",
    change: host({ Runtime: "io.containerd.runc.v2" }),
    says: /runtime is io\.containerd/,
  },
];

const limits: readonly Weakening[] = [
  limited("no limit of memory", { Memory: 0, MemorySwap: 0 }, /memory is not limited/),
  limited("more memory", { Memory: 2 * 1024 ** 3, MemorySwap: 2 * 1024 ** 3 }, /memory is not limited/),
  limited("all the swap there is", { MemorySwap: -1 }, /swap has no limit/),
  limited("the engine's own idea of swap", { MemorySwap: 0 }, /swap is not limited/),
  limited(
    "no end when memory is used up",
    { OomKillDisable: true },
    /are protected from the kernel's OOM killer/,
  ),
  limited("others that end before it", { OomScoreAdj: -500 }, /are protected from the kernel's OOM killer/),
  limited("no limit of processes", { PidsLimit: 0 }, /processes are not limited/),
  limited("as many processes as it likes", { PidsLimit: -1 }, /processes are not limited/),
  limited("all CPUs", { NanoCpus: 0 }, /CPUs are not limited/),
  limited("time that nobody can take from it", { CpuRealtimeRuntime: 950_000 }, /use real-time scheduling/),
  limited(
    "the right to such time",
    {
      Ulimits: [
        { Name: "nofile", Soft: 1024, Hard: 1024 },
        { Name: "rtprio", Soft: 0, Hard: 99 },
      ],
    },
    /use real-time scheduling/,
  ),
  limited("no limit of open files", { Ulimits: [] }, /open files are not limited/),
  limited("a log without an end", { LogConfig: { Type: "json-file", Config: {} } }, /log is not limited/),
  limited(
    "a log with a limit that is none",
    { LogConfig: { Type: "json-file", Config: { "max-size": "900g", "max-file": "1" } } },
    /log is not limited/,
  ),
  limited(
    "any number of logs",
    { LogConfig: { Type: "json-file", Config: { "max-size": "1024k", "max-file": "9999" } } },
    /log is not limited/,
  ),
  limited("a log that goes elsewhere", { LogConfig: { Type: "syslog", Config: {} } }, /log is not limited/),
  limited("a new start by itself", { RestartPolicy: { Name: "always" } }, /restart the container/),
  limited("an end without a trace", { AutoRemove: true }, /remove the container automatically/),
];

const weakenings = [...files, ...namespaces, ...networks, ...powers, ...limits];

function weakened(spec: ContainerSpec, { HostConfig, ...rest }: Change): Docker.ContainerCreateOptions {
  const asked = containerOptions({ spec, diskEnforced: false, profile: spec.privileged ? null : profile });
  return { ...asked, ...rest, HostConfig: { ...asked.HostConfig, ...HostConfig } };
}

function specFor(changes: Partial<ContainerSpec> = {}): ContainerSpec {
  return specOf(baseImage, "runc", { labels: mark, ...changes });
}

async function removeVolumes({ volumes }: ContainerSpec): Promise<void> {
  for (const { name } of volumes) await docker.getVolume(name).remove();
}

describe("a container that an engine makes weaker than it was asked for", () => {
  let neighbour: Neighbour;
  beforeAll(async () => {
    neighbour = await openNeighbour();
  });
  afterAll(() => neighbour.remove());

  test.for(weakenings)("is found out: $way", async ({ change, asked, says, refusal }, { annotate }) => {
    const spec = specFor(asked);

    const made = await docker
      .createContainer(weakened(spec, typeof change === "function" ? change(neighbour) : change))
      .catch((error: Error) => error);
    if (made instanceof Error) {
      expect(refusal, made.message).toBeDefined();
      expect(made.message).toMatch(refusal ?? /$^/);
      await annotate(`this engine does not make it: ${made.message.trim()}`);
      return;
    }
    const breaches = findConfinementBreaches(await made.inspect(), {
      spec,
      profile: spec.privileged ? null : profile,
    });
    await made.remove({ force: true, v: true });
    await removeVolumes(spec);

    expect(breaches.some((breach) => says.test(breach))).toBe(true);
  });

  test("and there are many ways", () => {
    expect(weakenings.length).toBeGreaterThanOrEqual(60);
    expect(weakenings.filter(({ refusal }) => refusal).length).toBeLessThan(10);
  });

  test.each<[name: string, asked: Partial<ContainerSpec>, change?: Change]>([
    ["a single sandbox", {}],
    ["one with a way out and a read-only root", { network: { kind: "bridge" }, readOnlyRoot: true }],
    [
      "a worker's supervisor",
      {
        ...{ user: "0:0", capabilities: ["SETUID", "SETGID", "KILL"] },
        volumes: [{ name: "aimi-test-work", path: "/work" }],
      },
    ],
    ["a privileged one, when that was asked for", { privileged: true }],
    // An image may declare volumes; the engine makes them for this container alone.
    ["one whose image declares a volume", {}, { Volumes: { "/data": {} } }],
  ])("what was made as asked is not refused: %s", async (_name, asked, change = {}) => {
    const spec = specFor(asked);

    const made = await docker.createContainer(weakened(spec, change));
    const breaches = findConfinementBreaches(await made.inspect(), {
      spec,
      profile: spec.privileged ? null : profile,
    });
    await made.remove({ force: true, v: true });
    await removeVolumes(spec);

    expect(breaches).toEqual([]);
  });
});

describe("control: what such containers could do if they were started", () => {
  const read = (file: string): string[] => ["cat", file];

  test.for<[name: string, command: string[], change: Change, seen: RegExp]>([
    [
      "a nameless volume shows the host's files",
      read("/host/etc/hostname"),
      host({
        Mounts: [
          {
            ...{ Type: "volume", Target: "/host" },
            VolumeOptions: { DriverConfig: { Name: "local", Options: folderOfTheHost } },
          },
        ],
      }),
      new RegExp(`^${hostname()}$`, "m"),
    ],
    [
      "a second connection is a way out of a container that says it has no network",
      read("/proc/net/dev"),
      { NetworkingConfig: { EndpointsConfig: { bridge: {} } } },
      /eth0/,
    ],
    [
      "the last word on privileges counts",
      read("/proc/self/status"),
      options("no-new-privileges", "no-new-privileges=0"),
      /NoNewPrivs:\t0/,
    ],
    [
      "what is not hidden can be read",
      read("/proc/timer_list"),
      { User: "0:0", ...host({ MaskedPaths: ["/proc/acpi"] }) },
      /cpu: 0/,
    ],
  ])("%s", async ([, command, change, seen]) => {
    const outputs: string[] = [];
    for (const way of [change, {}]) {
      const { User = "1000:1000" } = change;
      const made = await docker.createContainer(weakened(specFor({ command }), { User, ...way }));
      await made.start();
      outputs.push((await outputOf(made)).text);
      await made.remove({ force: true, v: true });
    }

    const [weak, strong] = outputs;
    expect(weak).toMatch(seen);
    expect(strong).not.toMatch(seen);
  });
});

/** What the engine remembers of a container that may be gone. */
async function happenedTo(name: string, since: Date): Promise<string[]> {
  const stream = await docker.getEvents({
    since: since.getTime() / 1000,
    // Rounded up, or what has just happened would be left out.
    until: (Date.now() + 2) / 1000,
    filters: { type: ["container"], container: [name] },
  });
  const lines = (await Array.fromAsync(stream)).join("").split("\n").filter(Boolean);
  return lines.map((line) => JSON.parse(line).Action);
}

describe("an engine that lies", () => {
  test.for<
    [
      lie: string,
      change: (options: Docker.ContainerCreateOptions) => Docker.ContainerCreateOptions,
      says: string,
    ]
  >([
    [
      "binds the host's root",
      (asked) => ({ ...asked, HostConfig: { ...asked.HostConfig, Binds: ["/:/host"] } }),
      "folders of the host are mounted: /:/host",
    ],
    [
      "makes it privileged",
      (asked) => ({ ...asked, HostConfig: { ...asked.HostConfig, Privileged: true } }),
      "the container is privileged",
    ],
    [
      "makes it privileged, and takes away what it would be found by",
      (asked) => ({ ...asked, Labels: mark, HostConfig: { ...asked.HostConfig, Privileged: true } }),
      "the container is privileged",
    ],
  ])(
    "and %s: CONTAINER_REFUSED, nothing started, nothing left",
    async ([, changeCreate, says], { folder }) => {
      await using proxy = await engineProxy({ endpoint, socket: join(folder, "engine.sock"), changeCreate });
      const { containers } = await openEngine(proxy.endpoint).open();
      const spec = specFor({ labels: { ...mark, "org.aimi.test-lie": "yes" } });
      const since = new Date();

      await expect(containers.create(spec)).rejects.toMatchObject({
        ...{ code: "CONTAINER_REFUSED", exitCode: 3 },
        message: expect.stringContaining(says),
      });

      expect(await happenedTo(spec.name, since)).toEqual(["create", "destroy"]);
      expect(proxy.lines.filter((line) => line.includes("/start"))).toEqual([]);
      const left = await docker.listContainers({ all: true, filters: { name: [spec.name] } });
      expect(left).toEqual([]);
    },
  );

  test("control: the same talk with an engine that does not lie makes the container", async ({ folder }) => {
    await using proxy = await engineProxy({ endpoint, socket: join(folder, "engine.sock") });
    const { containers } = await openEngine(proxy.endpoint).open();
    const spec = specFor();

    const { id } = await containers.create(spec);

    expect(await containers.inspect(id)).toMatchObject({ name: spec.name, state: "created" });
    await containers.remove(id);
  });

  test("one that a version before this made has no filter of ours, and is gone on with", async () => {
    const { containers } = await openEngine(endpoint).open();
    const spec = specFor();
    const made = await docker.createContainer(weakened(spec, options("no-new-privileges")));
    await made.start();

    const found = await containers.create(spec);
    await made.remove({ force: true, v: true });

    expect(found.id).toBe(made.id);
  });

  test("one that was there before, and has run, is refused but not removed: it may hold work", async () => {
    const { containers } = await openEngine(endpoint).open();
    const spec = specFor();
    const made = await docker.createContainer(weakened(spec, host({ PidsLimit: 0 })));
    const unstarted = await containers.create(spec).catch((error: unknown) => error);
    const afterUnstarted = await containers.inspect(spec.name);

    const again = await docker.createContainer(weakened(spec, host({ PidsLimit: 0 })));
    await again.start();
    const started = await containers.create(spec).catch((error: unknown) => error);
    const afterStarted = await containers.inspect(spec.name);
    await again.remove({ force: true, v: true });

    expect([unstarted, started]).toMatchObject([
      { code: "CONTAINER_REFUSED" },
      { code: "CONTAINER_REFUSED" },
    ]);
    expect(made.id).not.toBe(again.id);
    expect([afterUnstarted, afterStarted?.state]).toEqual([null, "running"]);
  });
});
