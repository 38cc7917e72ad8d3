import { execFileSync, spawnSync } from "node:child_process";

/** Architectures as libseccomp calls them, and as the kernel numbers them. */
export type ArchName = "X86_64" | "X86" | "AARCH64" | "ARM";
const kernelArch: Readonly<Record<ArchName, number>> = {
  X86_64: 0xc000003e,
  X86: 0x40000003,
  AARCH64: 0xc00000b7,
  ARM: 0x40000028,
};

export interface MadeCall {
  readonly arch: ArchName;
  readonly number: number;
  readonly args?: readonly bigint[];
}

/** Debian's `python3-seccomp`, which compiles for every architecture. */
const python = "/usr/bin/python3";

export const canCompile: boolean = spawnSync(python, ["-c", "import seccomp"]).status === 0;

/** What runtimes do with a profile, for an architecture that need not be this machine's. */
const compile = `
import errno, json, seccomp, sys
arch = sys.argv[1]
profile = json.load(sys.stdin)
entry = next(e for e in profile["archMap"] if e["architecture"] == "SCMP_ARCH_" + arch)
native = {"X86_64": "amd64", "AARCH64": "arm64"}[arch]
target = seccomp.SyscallFilter(seccomp.ERRNO(errno.EPERM))
for name in [arch] + [sub.replace("SCMP_ARCH_", "") for sub in entry["subArchitectures"]]:
    added = getattr(seccomp.Arch, name)
    if not target.exist_arch(added): target.add_arch(added)
if arch != "X86_64":
    target.remove_arch(seccomp.Arch.NATIVE)
compare = {"SCMP_CMP_EQ": seccomp.EQ, "SCMP_CMP_GT": seccomp.GT, "SCMP_CMP_MASKED_EQ": seccomp.MASKED_EQ}
for rule in profile["syscalls"]:
    if native not in rule.get("includes", {}).get("arches", [native]): continue
    action = seccomp.ALLOW if rule["action"] == "SCMP_ACT_ALLOW" else seccomp.ERRNO(rule["errnoRet"])
    args = []
    for a in rule.get("args", []):
        wanted = [0] if a["op"] == "SCMP_CMP_MASKED_EQ" else []
        args.append(seccomp.Arg(a["index"], compare[a["op"]], a["value"], *wanted))
    for name in rule["names"]:
        try: target.add_rule(action, name, *args)
        except (RuntimeError, ValueError): pass  # This library is older than the name.
target.export_bpf(sys.stdout)
`;

/** The filter's instructions, eight bytes each, as the kernel of that architecture would get them. */
export function compileProfile(profile: string, arch: "X86_64" | "AARCH64"): Buffer {
  return execFileSync(python, ["-c", compile, arch], { input: profile, stdio: ["pipe", "pipe", "pipe"] });
}

const kinds = new Map([
  [0x7fff0000, "allow"],
  [0x00050000, "errno"],
]);

/** What the filter says to a call: `allow`, or the number of the error. */
export function judgeCall(filter: Buffer, { arch, number, args = [] }: MadeCall): "allow" | number | string {
  const data = Buffer.alloc(64);
  data.writeUInt32LE(number >>> 0, 0);
  data.writeUInt32LE(kernelArch[arch], 4);
  for (const [at, value] of args.entries()) data.writeBigUInt64LE(BigInt.asUintN(64, value), 16 + 8 * at);
  let accumulator = 0;
  for (let at = 0; at * 8 < filter.length; at += 1) {
    const code = filter.readUInt16LE(at * 8);
    const [whenTrue, whenFalse] = [filter.readUInt8(at * 8 + 2), filter.readUInt8(at * 8 + 3)];
    const value = filter.readUInt32LE(at * 8 + 4);
    const jump = (isTrue: boolean): void => {
      at += isTrue ? whenTrue : whenFalse;
    };
    switch (code) {
      case 0x20:
        accumulator = data.readUInt32LE(value);
        break;
      case 0x54:
        accumulator = (accumulator & value) >>> 0;
        break;
      case 0x05:
        at += value;
        break;
      case 0x15:
        jump(accumulator === value);
        break;
      case 0x25:
        jump(accumulator > value);
        break;
      case 0x35:
        jump(accumulator >= value);
        break;
      case 0x06: {
        const kind = kinds.get((value & 0xffff0000) >>> 0) ?? `action ${value.toString(16)}`;
        return kind === "errno" ? value & 0xffff : kind;
      }
      default:
        throw new Error(`an instruction that no filter needs: ${code.toString(16)}`);
    }
  }
  throw new Error("the filter ends without an answer");
}
