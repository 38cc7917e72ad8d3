import { hash } from "node:crypto";
import { chooseSystemCallFilter } from "../../rules/system-call-filter.ts";
import { allowedSystemCalls } from "./allowed-system-calls.ts";
import { parseEngineSystemCallFilter } from "./parse-engine-filter.ts";

interface Argument {
  readonly index: number;
  readonly value: number;
  readonly op: "SCMP_CMP_EQ" | "SCMP_CMP_MASKED_EQ";
}

interface Rule {
  readonly names: readonly string[];
  readonly action: "SCMP_ACT_ALLOW" | "SCMP_ACT_ERRNO";
  readonly errnoRet?: number;
  readonly args?: readonly Argument[];
  readonly includes?: { readonly arches?: readonly string[]; readonly minKernel?: string };
}

export interface SeccompProfileOptions {
  /**
   * Whether the container may call `socketcall`, with which older 32-bit programs open sockets. A seccomp
   * filter cannot check the address family in a `socketcall`.
   */
  readonly programs32Bit?: boolean | undefined;
}

/**
 * The address families of the sockets that a container may open: unix, inet, inet6, netlink, packet. The
 * other families reach kernel drivers that no agent needs, and some of them lead out of the sandbox.
 */
const families: readonly number[] = [1, 2, 10, 16, 17];
/**
 * The allowed arguments of the system call `personality`: `PER_LINUX` and `PER_LINUX32`, each also with
 * `UNAME26`, and 0xffffffff, which only returns the current personality.
 */
const personalities: readonly number[] = [0, 8, 0x20000, 0x20008, 0xffffffff];
/** A bit mask of all flags with which the system call `clone` creates a new namespace. */
const namespaceFlags = 0x7e020000;
const notThere = 38;

const allow = (names: readonly string[], ...args: readonly Argument[]): Rule => ({
  names,
  action: "SCMP_ACT_ALLOW",
  ...(args.length > 0 && { args }),
});
const equals = (value: number): Argument => ({ index: 0, value, op: "SCMP_CMP_EQ" });
const answerNotThere = (name: string): Rule => ({
  names: [name],
  action: "SCMP_ACT_ERRNO",
  errnoRet: notThere,
});

/**
 * Creates the seccomp profile of swarm's containers in the engine's format. System calls that the profile
 * does not list fail with EPERM. The profile has no rules that depend on capabilities, because swarm's
 * containers have no capability that would allow more calls.
 */
export function seccompProfile({ programs32Bit = false }: SeccompProfileOptions = {}): string {
  const rules: Rule[] = [
    allow(allowedSystemCalls),
    { ...allow(["arch_prctl", "modify_ldt"]), includes: { arches: ["amd64"] } },
    {
      ...allow([
        "arm_fadvise64_64",
        "arm_sync_file_range",
        "breakpoint",
        "cacheflush",
        "set_tls",
        "sync_file_range2",
      ]),
      includes: { arches: ["arm64"] },
    },
    // Allow exact values only: a filter compares 64 bits, but the kernel uses only the lower 32.
    ...families.map((family) => allow(["socket", "socketpair"], equals(family))),
    ...personalities.map((personality) => allow(["personality"], equals(personality))),
    allow(["clone"], { index: 0, value: namespaceFlags, op: "SCMP_CMP_MASKED_EQ" }),
    // The flags of `clone3` are in memory, which no filter can read. At ENOSYS, C libraries use `clone`
    // instead.
    answerNotThere("clone3"),
    // Answer `socketcall` with ENOSYS, not EPERM: a rule equal to the default is dropped, and then the rules
    // of `socket` would allow `socketcall`, too.
    programs32Bit ? allow(["socketcall"]) : answerNotThere("socketcall"),
  ];
  return JSON.stringify({
    defaultAction: "SCMP_ACT_ERRNO",
    archMap: [
      { architecture: "SCMP_ARCH_X86_64", subArchitectures: ["SCMP_ARCH_X86", "SCMP_ARCH_X32"] },
      { architecture: "SCMP_ARCH_AARCH64", subArchitectures: ["SCMP_ARCH_ARM"] },
    ],
    syscalls: rules,
  });
}

/**
 * The SHA-256 digests of the current seccomp profile and of all earlier ones. After a change to the profile,
 * add the new digest, and keep all old digests.
 */
const knownDigests = {
  strict: ["924b87ae7bfe8e674106fb928e93111412eea61edb25035cca8d73750134f45d"],
  with32Bit: ["1a21b0b117680303109f3cb580a1ed032e1cfc7de07221537009ce36666c92d9"],
};

/**
 * Returns whether a container's security option is one of swarm's own seccomp profiles. The profile for
 * 32-bit programs counts only if the container's spec requests that profile.
 */
export function isSwarmSeccompProfile(
  option: string,
  { programs32Bit = false }: SeccompProfileOptions,
): boolean {
  if (!option.startsWith(prefix)) return false;
  const digest = sha256OfProfile(option.slice(prefix.length));
  return knownDigests.strict.includes(digest) || (programs32Bit && knownDigests.with32Bit.includes(digest));
}

const prefix = "seccomp=";

export function seccompOption(profile: string): string {
  return `${prefix}${profile}`;
}

export function sha256OfProfile(profile: string): string {
  return hash("sha256", profile);
}

/**
 * Returns the seccomp profile for a container of the given runtime; null means the engine's default profile.
 */
export function chooseSeccompProfile(
  info: object,
  { runtime, limits = {} }: { readonly runtime: string; readonly limits?: SeccompProfileOptions },
): string | null {
  return chooseSystemCallFilter(parseEngineSystemCallFilter(info), runtime).kind === "ours"
    ? seccompProfile(limits)
    : null;
}
