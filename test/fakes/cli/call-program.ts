/** How a program comes into the kernel. */
export type Entry = "64-bit" | "int 0x80" | "x32";

/** A system call as the machine sees it; `words` are laid into memory, and their address is one more argument. */
export interface RawCall {
  readonly entry: Entry;
  readonly number: number;
  readonly args: readonly (number | bigint)[];
  readonly words?: readonly number[];
}

const base = 0x40_0000;
const [headerBytes, dataBytes] = [120, 512];
const x32Bit = 0x4000_0000;

/**
 * A Linux program for x86-64 that makes these calls one after the other, and writes a byte for each: 0, or the number of
 * its error. It needs no library, no compiler and no other file.
 */
export function callProgram(calls: readonly RawCall[]): Buffer {
  const data = Buffer.alloc(dataBytes);
  // The first eight bytes take the results.
  let used = 8;
  const code = calls.map(({ entry, number, args, words }) => {
    const all = [...args];
    if (words) {
      all.push(base + headerBytes + used);
      for (const word of words) used = data.writeInt32LE(word, used);
    }
    return Buffer.concat([entry === "int 0x80" ? enter32(number, all) : enter64(entry, number, all), tell()]);
  });
  return linked(data, Buffer.concat([...code, enter64("64-bit", 60, [0])]));
}

/** A program that does nothing until it is ended. */
export function waitingProgram(): Buffer {
  const wait = enter64("64-bit", 34, []);
  return linked(Buffer.alloc(dataBytes), Buffer.concat([wait, Buffer.from([0xeb, -wait.length - 2])]));
}

/** `mov` of a constant into each register, and `syscall`. */
function enter64(entry: Entry, number: number, args: readonly (number | bigint)[]): Buffer {
  // rdi, rsi, rdx, r10, r8
  const registers = [
    [0x48, 0xbf],
    [0x48, 0xbe],
    [0x48, 0xba],
    [0x49, 0xba],
    [0x49, 0xb8],
  ];
  const moves = registers.map((move, at) => [...move, ...quad(args[at] ?? 0)]);
  const rax = [0x48, 0xb8, ...quad(entry === "x32" ? number + x32Bit : number)];
  return Buffer.from([...moves.flat(), ...rax, 0x0f, 0x05]);
}

/** The door of 32-bit programs, which a 64-bit one can take as well. */
function enter32(number: number, args: readonly (number | bigint)[]): Buffer {
  // ebx, ecx, edx, esi, edi
  const moves = [0xbb, 0xb9, 0xba, 0xbe, 0xbf].map((move, at) => [move, ...quad(args[at] ?? 0).slice(0, 4)]);
  return Buffer.from([...moves.flat(), 0xb8, ...quad(number).slice(0, 4), 0xcd, 0x80]);
}

function quad(value: number | bigint): number[] {
  const bytes = Buffer.alloc(8);
  bytes.writeBigInt64LE(BigInt.asIntN(64, BigInt(value)));
  return [...bytes];
}

/** Writes what eax holds: 0 for a result, else the error's number. */
function tell(): Buffer {
  const results = base + headerBytes;
  const toNumber = [0xf7, 0xd8, 0x79, 0x02, 0x31, 0xc0]; // neg eax; jns +2; xor eax, eax
  const store = [0x88, 0x04, 0x25, ...quad(results).slice(0, 4)]; // mov [results], al
  return Buffer.concat([Buffer.from([...toNumber, ...store]), enter64("64-bit", 1, [1, results, 1])]);
}

/** An ELF file with one segment, that may be read, written and run. */
function linked(data: Buffer, code: Buffer): Buffer {
  const file = Buffer.alloc(headerBytes);
  Buffer.from([0x7f, 0x45, 0x4c, 0x46, 2, 1, 1]).copy(file);
  file.writeUInt16LE(2, 16);
  file.writeUInt16LE(62, 18);
  file.writeUInt32LE(1, 20);
  file.writeBigUInt64LE(BigInt(base + headerBytes + data.length), 24);
  file.writeBigUInt64LE(64n, 32);
  file.writeUInt16LE(64, 52);
  file.writeUInt16LE(56, 54);
  file.writeUInt16LE(1, 56);
  const size = BigInt(headerBytes + data.length + code.length);
  file.writeUInt32LE(1, 64);
  file.writeUInt32LE(7, 68);
  for (const [at, value] of [0n, BigInt(base), BigInt(base), size, size, 4096n].entries())
    file.writeBigUInt64LE(value, 72 + 8 * at);
  return Buffer.concat([file, data, code]);
}
