import { describe, expect, test } from "vitest";
import { parseEngineSystemCallFilter } from "../../../../../src/engine/docker/seccomp/parse-engine-filter.ts";
import {
  chooseSeccompProfile,
  isSwarmSeccompProfile,
  seccompOption,
  seccompProfile,
  sha256OfProfile,
} from "../../../../../src/engine/docker/seccomp/seccomp-profile.ts";
import {
  chooseSystemCallFilter,
  describeSystemCallFilter,
} from "../../../../../src/engine/rules/system-call-filter.ts";
import {
  type ArchName,
  canCompile,
  compileProfile,
  judgeCall,
} from "../../../../fakes/engine/compiled-profile.ts";

/** Numbers of calls; null where an architecture has none. */
const numbers: Readonly<Record<string, Readonly<Record<ArchName, number | null>>>> = {
  read: { X86_64: 0, X86: 3, AARCH64: 63, ARM: 3 },
  socket: { X86_64: 41, X86: 359, AARCH64: 198, ARM: 281 },
  socketpair: { X86_64: 53, X86: 360, AARCH64: 199, ARM: 288 },
  socketcall: { X86_64: null, X86: 102, AARCH64: null, ARM: null },
  io_uring_setup: { X86_64: 425, X86: 425, AARCH64: 425, ARM: 425 },
  io_uring_enter: { X86_64: 426, X86: 426, AARCH64: 426, ARM: 426 },
  io_uring_register: { X86_64: 427, X86: 427, AARCH64: 427, ARM: 427 },
  add_key: { X86_64: 248, X86: 286, AARCH64: 217, ARM: 309 },
  request_key: { X86_64: 249, X86: 287, AARCH64: 218, ARM: 310 },
  keyctl: { X86_64: 250, X86: 288, AARCH64: 219, ARM: 311 },
  userfaultfd: { X86_64: 323, X86: 374, AARCH64: 282, ARM: 388 },
  clone: { X86_64: 56, X86: 120, AARCH64: 220, ARM: 120 },
  clone3: { X86_64: 435, X86: 435, AARCH64: 435, ARM: 435 },
  ptrace: { X86_64: 101, X86: 26, AARCH64: 117, ARM: 26 },
  mount: { X86_64: 165, X86: 21, AARCH64: 40, ARM: 21 },
  unshare: { X86_64: 272, X86: 310, AARCH64: 97, ARM: 337 },
  bpf: { X86_64: 321, X86: 357, AARCH64: 280, ARM: 386 },
};
const [refused, notThere] = [1, 38];
const highBit = 1n << 32n;
const families = Array.from({ length: 64 }, (_, family) => BigInt(family));
const open = [1n, 2n, 10n, 16n, 17n];

describe.skipIf(!canCompile).each([
  ["X86_64", "X86"],
  ["AARCH64", "ARM"],
] as const)("the profile, compiled for %s", (native, sub) => {
  const filter = canCompile ? compileProfile(seccompProfile(), native) : Buffer.alloc(0);
  const judge = (arch: ArchName, call: string, ...args: bigint[]) => {
    const number = numbers[call]?.[arch];
    return typeof number === "number" ? judgeCall(filter, { arch, number, args }) : null;
  };

  test.each([native, sub])(
    "opens unix, inet, inet6, netlink and packet sockets, and no other: %s",
    (arch) => {
      for (const call of ["socket", "socketpair"])
        for (const family of families)
          expect([family, judge(arch, call, family)]).toEqual([
            family,
            open.includes(family) ? "allow" : refused,
          ]);
    },
  );

  test("no family is let through with higher bits, which the kernel would cut off", () => {
    for (const family of families)
      for (const high of [highBit, highBit << 31n, -highBit])
        expect(judge(native, "socket", family | high)).toBe(refused);
  });

  test.each([native, sub])("refuses io_uring, keys, userfaultfd and new namespaces: %s", (arch) => {
    for (const call of ["io_uring_setup", "io_uring_enter", "io_uring_register"])
      expect([call, judge(arch, call)]).toEqual([call, refused]);
    for (const call of ["add_key", "request_key", "keyctl", "userfaultfd", "mount", "unshare", "bpf"])
      expect([call, judge(arch, call)]).toEqual([call, refused]);
    expect(judge(arch, "clone", 0x10000000n)).toBe(refused);
    expect(judge(arch, "clone3")).toBe(notThere);
    expect([null, notThere]).toContain(judge(arch, "socketcall", 1n));
  });

  test.each([native, sub])("lets through what programs need: %s", (arch) => {
    expect(judge(arch, "read")).toBe("allow");
    expect(judge(arch, "ptrace")).toBe("allow");
    expect(judge(arch, "clone", 0x11n)).toBe("allow");
  });

  test("control: by the rule of Docker's own profile, families above 40, a family with a higher bit goes through", () => {
    const profile = JSON.parse(seccompProfile());
    const above = { index: 0, value: 40, op: "SCMP_CMP_GT" };
    profile.syscalls.push({ names: ["socket"], action: "SCMP_ACT_ALLOW", args: [above] });
    const number = numbers["socket"]?.[native] ?? 0;

    const [low, high] = [40n, 40n | highBit].map((family) =>
      judgeCall(compileProfile(JSON.stringify(profile), native), { arch: native, number, args: [family] }),
    );

    expect([low, high]).toEqual([refused, "allow"]);
  });

  test("control: with EPERM in the place of ENOSYS, `socketcall` opens by the rules of `socket`", () => {
    const number = numbers["socketcall"]?.[sub];
    if (typeof number !== "number") return;
    const profile = seccompProfile().replace(
      '{"names":["socketcall"],"action":"SCMP_ACT_ERRNO","errnoRet":38}',
      '{"names":["socketcall"],"action":"SCMP_ACT_ERRNO","errnoRet":1}',
    );

    const judged = judgeCall(compileProfile(profile, native), { arch: sub, number, args: [1n] });

    expect(profile).not.toBe(seccompProfile());
    expect(judged).toBe("allow");
  });

  test("with 32-bit programs allowed, `socketcall` is open and `socket` is not", () => {
    const wide = compileProfile(seccompProfile({ programs32Bit: true }), native);
    const number = numbers["socketcall"]?.[sub];

    if (typeof number === "number") expect(judgeCall(wide, { arch: sub, number, args: [1n] })).toBe("allow");
    expect(judgeCall(wide, { arch: sub, number: numbers["socket"]?.[sub] ?? 0, args: [40n] })).toBe(refused);
  });
});

test("the profiles are the ones that containers of ours may have", () => {
  const [strict, wide] = [seccompProfile(), seccompProfile({ programs32Bit: true })].map(seccompOption);

  // Another digest needs its place in the list, beside those of the versions before.
  expect([
    isSwarmSeccompProfile(String(strict), {}),
    isSwarmSeccompProfile(String(wide), { programs32Bit: true }),
  ]).toEqual([true, true]);
  expect(isSwarmSeccompProfile(String(strict), { programs32Bit: true })).toBe(true);
  expect(isSwarmSeccompProfile(String(wide), {})).toBe(false);
  expect(sha256OfProfile(seccompProfile())).not.toBe(
    sha256OfProfile(seccompProfile({ programs32Bit: true })),
  );
  for (const other of ["seccomp=unconfined", `${strict} `, "seccomp={}", seccompProfile(), "seccomp="])
    expect(isSwarmSeccompProfile(other, { programs32Bit: true })).toBe(false);
});

const docker = { Architecture: "x86_64", SecurityOptions: ["name=seccomp,profile=default"] };

describe("which filter a container has", () => {
  test.each<[what: string, info: object, runtime: string, words: string]>([
    ["Docker of Debian", docker, "runc", "swarm's own filter"],
    ["crun under Docker", docker, "crun", "swarm's own filter"],
    [
      "Docker since 23",
      { ...docker, SecurityOptions: ["name=apparmor", "name=seccomp,profile=builtin", "name=cgroupns"] },
      "runc",
      "swarm's own filter",
    ],
    [
      "an engine that filters nothing by itself",
      { ...docker, SecurityOptions: ["name=seccomp,profile=unconfined"] },
      "runc",
      "swarm's own filter",
    ],
    ["arm64", { ...docker, Architecture: "aarch64" }, "runc", "swarm's own filter"],
    ["gVisor", docker, "runsc", "the engine's own filter: swarm's own filter works only with runc and crun"],
    [
      "Sysbox",
      docker,
      "sysbox-runc",
      "the engine's own filter: swarm's own filter works only with runc and crun",
    ],
    [
      "Podman",
      { ...docker, BuildahVersion: "1.28.2" },
      "crun",
      "the engine's own filter: Podman does not accept an inline seccomp profile",
    ],
    [
      "an administrator's profile",
      { ...docker, SecurityOptions: ["name=seccomp,profile=/etc/docker/strict.json"] },
      "runc",
      "the engine's own filter: the engine's administrator chose the filter /etc/docker/strict.json",
    ],
    [
      "a kernel without seccomp",
      { ...docker, SecurityOptions: [] },
      "runc",
      "the engine's own filter: this engine does not filter system calls",
    ],
    [
      "an engine that says nothing of it",
      {},
      "runc",
      "the engine's own filter: this engine does not filter system calls",
    ],
    [
      "another architecture",
      { ...docker, Architecture: "s390x" },
      "runc",
      "the engine's own filter: swarm's own filter does not support the CPU architecture s390x",
    ],
  ])("%s", (_what, info, runtime, words) => {
    const filter = chooseSystemCallFilter(parseEngineSystemCallFilter(info), runtime);

    expect(describeSystemCallFilter(filter)).toBe(words);
    expect(chooseSeccompProfile(info, { runtime })).toBe(filter.kind === "ours" ? seccompProfile() : null);
  });

  test("with 32-bit programs allowed, the words say what that opens", () => {
    const filter = chooseSystemCallFilter(parseEngineSystemCallFilter(docker), "runc");

    expect(describeSystemCallFilter(filter, { programs32Bit: true })).toBe(
      "swarm's own filter, with sockets of every address family allowed for 32-bit programs",
    );
    expect(chooseSeccompProfile(docker, { runtime: "runc", limits: { programs32Bit: true } })).toBe(
      seccompProfile({ programs32Bit: true }),
    );
  });
});
