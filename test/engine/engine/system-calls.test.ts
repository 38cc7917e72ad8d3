import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { arch, tmpdir } from "node:os";
import { join } from "node:path";
import type Docker from "dockerode";
import { pack } from "tar-stream";
import { afterAll, beforeAll, describe, expect, inject, test } from "vitest";
import type { ContainerSpec } from "../../../src/engine/containers.ts";
import {
  chooseSeccompProfile,
  seccompOption,
  seccompProfile,
} from "../../../src/engine/docker/seccomp/seccomp-profile.ts";
import { daemonRuntimes } from "../../../src/engine/private/engine-runtimes.ts";
import { findProgram } from "../../../src/machine/engine-packages.ts";
import { callProgram, type Entry, type RawCall, waitingProgram } from "../../fakes/cli/call-program.ts";
import { specOf } from "../../fakes/engine/containers-suite.ts";
import { dockerAt, openEngine } from "../../fakes/engine/engine-at.ts";
import { engineProxy } from "../../fakes/engine/engine-proxy.ts";
import { type OwnDaemon, openDaemon } from "../../fakes/engine/own-daemon.ts";

/** Numbers of errors, as the kernel knows them; 0 is none. */
const [none, EPERM, EBADF, EFAULT, EINVAL] = [0, 1, 9, 14, 22];
const [ENOSYS, EOPNOTSUPP, EAFNOSUPPORT] = [38, 95, 97];
const highBit = 1n << 32n;

interface Row extends RawCall {
  readonly what: string;
  /** With our profile, on the kernel of the engine. */
  readonly ours: number;
  /** Without any, whatever this kernel was built with; never the same as with ours where that refuses. */
  readonly without: readonly number[];
  /** What gVisor's own kernel answers, which gets no profile. */
  readonly gvisor?: readonly number[];
}

const row = (
  entry: Entry,
  what: string,
  [number, ...args]: readonly [number, ...(number | bigint)[]],
  expected: Pick<Row, "ours" | "without" | "gvisor">,
  words?: readonly number[],
): Row => ({ ...{ entry, what, number, args, ...expected }, ...(words && { words }) });

const fine = { ours: none, without: [none], gvisor: [none] } as const;
const family = { ours: EPERM, without: [none, EAFNOSUPPORT], gvisor: [EAFNOSUPPORT] } as const;
const uring = { ours: EPERM, without: [EFAULT, EBADF, EINVAL, ENOSYS] } as const;
const key = { ours: EPERM, without: [none, EFAULT] } as const;
const mux = { ours: ENOSYS, without: [none, EAFNOSUPPORT] } as const;

const rows: readonly Row[] = [
  row("64-bit", "getpid", [39], fine),
  row("64-bit", "socket(AF_UNIX)", [41, 1, 1, 0], fine),
  row("64-bit", "socket(AF_INET)", [41, 2, 1, 0], fine),
  row("64-bit", "socket(AF_INET6)", [41, 10, 1, 0], { ...fine, without: [none, EAFNOSUPPORT] }),
  row("64-bit", "socket(AF_NETLINK)", [41, 16, 3, 0], fine),
  row("64-bit", "socket(AF_VSOCK)", [41, 40, 1, 0], family),
  row("64-bit", "socket(AF_VSOCK | 1<<32)", [41, 40n | highBit, 1, 0], family),
  row("64-bit", "socket(AF_ALG)", [41, 38, 5, 0], family),
  row("64-bit", "socket(AF_ALG | 1<<32)", [41, 38n | highBit, 5, 0], family),
  row("64-bit", "socket(AF_TIPC)", [41, 30, 5, 0], family),
  row("64-bit", "socket(AF_RDS)", [41, 21, 5, 0], family),
  row("64-bit", "socketpair(AF_UNIX)", [53, 1, 1, 0], fine, [0, 0]),
  row(
    "64-bit",
    "socketpair(AF_VSOCK)",
    [53, 40, 1, 0],
    {
      ...{ ours: EPERM, without: [EOPNOTSUPP, EAFNOSUPPORT], gvisor: [EAFNOSUPPORT] },
    },
    [0, 0],
  ),
  row("64-bit", "io_uring_setup", [425, 0, 0], uring),
  row("64-bit", "io_uring_enter", [426, -1, 0, 0, 0], uring),
  row("64-bit", "io_uring_register", [427, -1, 0, 0, 0], uring),
  row("64-bit", "userfaultfd", [323, 1], { ours: EPERM, without: [none, ENOSYS], gvisor: [ENOSYS] }),
  row("64-bit", "add_key", [248, 0, 0, 0, 0], key),
  row("64-bit", "request_key", [249, 0, 0, 0], key),
  row("64-bit", "keyctl", [250, 0, -3, 0], key),
  row("64-bit", "clone3", [435, 0, 0], { ours: ENOSYS, without: [EINVAL], gvisor: [ENOSYS, EINVAL] }),
  row("64-bit", "ptrace", [101, 0, 0], fine),
  row("int 0x80", "getpid", [20], { ours: none, without: [none] }),
  row("int 0x80", "socket(AF_UNIX)", [359, 1, 1, 0], { ours: none, without: [none] }),
  row("int 0x80", "socket(AF_VSOCK)", [359, 40, 1, 0], { ...family, gvisor: [] }),
  row("int 0x80", "socket(AF_ALG)", [359, 38, 5, 0], { ...family, gvisor: [] }),
  row("int 0x80", "socketcall(socket, AF_UNIX)", [102, 1], mux, [1, 1, 0]),
  row("int 0x80", "socketcall(socket, AF_VSOCK)", [102, 1], mux, [40, 1, 0]),
  row("int 0x80", "socketcall(socket, AF_ALG)", [102, 1], mux, [38, 5, 0]),
  row("int 0x80", "io_uring_setup", [425, 0, 0], uring),
  row("int 0x80", "userfaultfd", [374, 1], { ours: EPERM, without: [none, ENOSYS] }),
  row("int 0x80", "add_key", [286, 0, 0, 0, 0], key),
  row("int 0x80", "request_key", [287, 0, 0, 0], key),
  row("int 0x80", "keyctl", [288, 0, -3, 0], key),
  row("x32", "socket(AF_VSOCK)", [41, 40, 1, 0], { ours: EPERM, without: [ENOSYS, none, EAFNOSUPPORT] }),
];

const entries: Readonly<Record<Entry, string>> = {
  "64-bit": "/calls-64",
  "int 0x80": "/calls-80",
  x32: "/calls-x32",
};
const ofEntry = (entry: Entry): Row[] => rows.filter((one) => one.entry === entry);
const image = "aimi-test-calls:here";
const isHere = arch() === "x64";
const runtimes = { ...(await daemonRuntimes(process.env)), ...(await crunHere()) };
const onThisKernel = ["runc", ...("crun" in runtimes ? ["crun"] : [])];

async function crunHere(): Promise<Record<string, { path: string }>> {
  const path = await findProgram("crun", process.env);
  return path === null ? {} : { crun: { path } };
}

/** Programs that make the calls of the table, and one that waits. */
async function importPrograms(docker: Docker): Promise<void> {
  const archive = pack();
  const add = (path: string, program: Buffer) => archive.entry({ name: path.slice(1), mode: 0o755 }, program);
  add("/wait", waitingProgram());
  for (const [entry, path] of Object.entries(entries)) add(path, callProgram(ofEntry(entry as Entry)));
  archive.entry({ name: "tmp", type: "directory", mode: 0o1777 });
  archive.finalize();
  const [repo, tag] = image.split(":");
  const options = { fromSrc: "-", repo, tag };
  const said = await docker.importImage(archive as unknown as NodeJS.ReadableStream, options);
  await Array.fromAsync(said);
}

/** Whose filter a container has. */
type Filter = "ours" | "the engine's" | "none" | "ours, for 32-bit programs";

/** A running container that was made by us, or by one who asks for another filter. */
async function begin(endpoint: string, runtime: string, filter: Filter): Promise<string> {
  const { containers } = await openEngine(endpoint).open();
  const asked = specOf(image, runtime, { command: ["/wait"] });
  const spec: ContainerSpec =
    filter === "ours, for 32-bit programs"
      ? { ...asked, limits: { ...asked.limits, programs32Bit: true } }
      : asked;
  const id = filter.startsWith("ours")
    ? (await containers.create(spec)).id
    : await createBare(endpoint, spec, filter);
  await containers.start(id);
  return id;
}

async function createBare(
  endpoint: string,
  { name, runtime }: ContainerSpec,
  filter: Filter,
): Promise<string> {
  const SecurityOpt = ["no-new-privileges", ...(filter === "none" ? ["seccomp=unconfined"] : [])];
  const made = await dockerAt(endpoint).createContainer({
    ...{ name, Image: image, Cmd: ["/wait"], User: "1000:1000" },
    HostConfig: { Init: true, Runtime: runtime, NetworkMode: "none", CapDrop: ["ALL"], SecurityOpt },
  });
  return made.id;
}

/** What the calls of the table came to, each under its entry and words. */
async function answersIn(endpoint: string, runtime: string, filter: Filter): Promise<Map<Row, number>> {
  const { containers } = await openEngine(endpoint).open();
  const id = await begin(endpoint, runtime, filter);
  try {
    const found = new Map<Row, number>();
    for (const entry of Object.keys(entries) as Entry[]) {
      await using ran = await containers.exec(id, { command: [entries[entry]], input: false });
      const bytes: number[] = [];
      for await (const chunk of ran.output) bytes.push(...chunk.bytes);
      for (const [at, one] of ofEntry(entry).entries())
        if (bytes[at] !== undefined) found.set(one, bytes[at]);
    }
    return found;
  } finally {
    await containers.remove(id);
  }
}

/** What a container's own process wrote until its end. */
async function saidBy(endpoint: string, id: string): Promise<number[]> {
  await dockerAt(endpoint).getContainer(id).wait();
  const { containers } = await openEngine(endpoint).open();
  const chunks = await Array.fromAsync(containers.logs(id, { follow: false }));
  return chunks.flatMap(({ bytes }) => [...bytes]);
}

let home = "";
let daemon: OwnDaemon;
const remembered = new Map<string, Promise<Map<Row, number>>>();

function answers(runtime: string, filter: Filter): Promise<Map<Row, number>> {
  const key = `${runtime} ${filter}`;
  const found = remembered.get(key) ?? answersIn(daemon.endpoint, runtime, filter);
  remembered.set(key, found);
  return found;
}

const titled = rows.map((one) => [`${one.what} by ${one.entry}`, one] as const);
const refusedRows = titled.filter(([, { ours }]) => ours !== none);
const algRows = rows.filter(({ what }) => what.includes("AF_ALG"));

describe.skipIf(!isHere)("system calls in containers", () => {
  beforeAll(async () => {
    home = await mkdtemp(join(tmpdir(), "swarm-"));
    daemon = await openDaemon(join(home, "plain"), { runtimes });
    await importPrograms(dockerAt(daemon.endpoint));
  });
  afterAll(async () => {
    await daemon?.[Symbol.asyncDispose]();
    await rm(home, { recursive: true, force: true });
  });

  describe.each(onThisKernel)("of %s, with our filter", (runtime) => {
    test.each(titled)("%s", async (_title, one) => {
      expect((await answers(runtime, "ours")).get(one)).toBe(one.ours);
    });

    test.each(refusedRows)("control: without a filter the kernel itself answers %s", async (_title, one) => {
      const answer = (await answers(runtime, "none")).get(one);

      expect(one.without).toContain(answer);
      expect(answer).not.toBe(one.ours);
    });

    test("control: the engine's own filter refuses less", async () => {
      const [ours, theirs] = [await answers(runtime, "ours"), await answers(runtime, "the engine's")];

      const open = refusedRows.filter(([, one]) => theirs.get(one) !== ours.get(one));

      expect(open.length).toBeGreaterThan(0);
    });

    test("where 32-bit programs are allowed, `socketcall` opens every family, and nothing else changes", async () => {
      const [ours, wide] = [
        await answers(runtime, "ours"),
        await answers(runtime, "ours, for 32-bit programs"),
      ];

      const changed = rows.filter((one) => wide.get(one) !== ours.get(one));

      expect(changed.map(({ what }) => what)).toEqual([
        "socketcall(socket, AF_UNIX)",
        "socketcall(socket, AF_VSOCK)",
        "socketcall(socket, AF_ALG)",
      ]);
      for (const one of changed) expect(one.without).toContain(wide.get(one));
    });

    test("attack CVE-2026-31431: no way in opens the sockets by which it writes into the page cache", async () => {
      const found = await answers(runtime, "ours");

      expect(algRows.map((one) => found.get(one))).toEqual(algRows.map(({ ours }) => ours));
    });

    test("control CVE-2026-31431: without a filter such a socket opens, where the kernel has them", async ({
      annotate,
    }) => {
      const found = await answers(runtime, "none");
      const reached = algRows.map((one) => found.get(one));

      if (reached.includes(EAFNOSUPPORT)) await annotate("this kernel has no AF_ALG, and says so by itself");
      for (const answer of reached) expect([none, EAFNOSUPPORT]).toContain(answer);
    });
  });

  describe.skipIf(!("runsc" in runtimes))("of gVisor, which takes our filter and lays it aside", () => {
    test.each(titled.filter(([, one]) => one.entry === "64-bit"))("%s", async (_title, one) => {
      const answer = (await answers("runsc", "the engine's")).get(one);

      if (one.gvisor) expect(one.gvisor).toContain(answer);
      else expect(answer).not.toBe(none);
    });

    test("by int 0x80 there is no way to the calls of 32-bit programs", async () => {
      const found = await answers("runsc", "the engine's");

      const open = ofEntry("int 0x80").filter(
        (one) => one.what.startsWith("getpid") && found.get(one) === none,
      );

      expect(open).toEqual([]);
    });

    test("containers of ours are made without it, and are not refused", async () => {
      expect(await answers("runsc", "ours")).toEqual(await answers("runsc", "the engine's"));
      expect(chooseSeccompProfile(await dockerAt(daemon.endpoint).info(), { runtime: "runsc" })).toBeNull();
    });
  });

  test("the container's own process has the filter as well", async () => {
    const { containers } = await openEngine(daemon.endpoint).open();
    const { id } = await containers.create(specOf(image, "runc", { command: ["/calls-80"] }));
    await containers.start(id);

    const bytes = await saidBy(daemon.endpoint, id);
    await containers.remove(id);

    expect(bytes).toEqual(ofEntry("int 0x80").map(({ ours }) => ours));
  });

  describe("an engine whose administrator chose a filter", () => {
    // No sockets at all, which neither ours nor Docker's refuses.
    const strict = seccompProfile().replaceAll('"socket",', "");
    const unix = rows.find(({ what }) => what === "socket(AF_UNIX)") as Row;
    let own: OwnDaemon;
    beforeAll(async () => {
      const file = join(home, "strict.json");
      await writeFile(file, strict);
      own = await openDaemon(join(home, "strict"), { "seccomp-profile": file });
      await importPrograms(dockerAt(own.endpoint));
    });
    afterAll(() => own?.[Symbol.asyncDispose]());

    test("keeps it: ours would take it away", async () => {
      const found = await answersIn(own.endpoint, "runc", "ours");

      expect(found.get(unix)).toBe(EPERM);
    });

    test("control: with ours in its place, what it refused is open", async ({ annotate }) => {
      const { name } = specOf(image, "runc");
      const made = await dockerAt(own.endpoint).createContainer({
        ...{ name, Image: image, Cmd: ["/calls-64"] },
        HostConfig: { NetworkMode: "none", SecurityOpt: [seccompOption(seccompProfile())] },
      });
      await made.start();
      const bytes = await saidBy(own.endpoint, made.id);
      await made.remove({ force: true });
      await annotate(
        `the engine says ${JSON.stringify((await dockerAt(own.endpoint).info()).SecurityOptions)}`,
      );

      expect(bytes[ofEntry("64-bit").indexOf(unix)]).toBe(none);
    });
  });

  test("a runtime is measured under the same filter", async () => {
    let seen: readonly string[] | undefined;
    await using proxy = await engineProxy({
      ...{ endpoint: inject("endpoint"), socket: join(home, "proxy.sock") },
      changeCreate: (asked) => {
        seen = asked.HostConfig?.SecurityOpt;
        return asked;
      },
    });

    const { seccomp } = await openEngine(proxy.endpoint).probe("runc");

    expect(seen).toEqual(["no-new-privileges", seccompOption(seccompProfile())]);
    expect(seccomp).toBe(2);
  });
});
