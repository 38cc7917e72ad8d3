import { createHash } from "node:crypto";
import { deflateSync } from "node:zlib";

/** An object as git stores it, sound or not. */
export interface RawObject {
  readonly type: "commit" | "tree" | "blob";
  readonly bytes: Buffer;
}

export function idOf({ type, bytes }: RawObject): string {
  return createHash("sha1").update(`${type} ${bytes.length}\0`).update(bytes).digest("hex");
}

export function blob(content: string): RawObject {
  return { type: "blob", bytes: Buffer.from(content) };
}

/** A tree of exactly these entries, in this order and with these modes. */
export function tree(...entries: TreeRows): RawObject {
  return treeOf(entries);
}

export type TreeRows = [mode: string, name: string, id: string][];

/** The same of more entries than a call may have arguments. */
export function treeOf(entries: Readonly<TreeRows>): RawObject {
  const rows = entries.flatMap(([mode, name, id]) => [
    Buffer.from(`${mode} ${name}\0`),
    Buffer.from(id, "hex"),
  ]);
  return { type: "tree", bytes: Buffer.concat(rows) };
}

export function commit(treeId: string, parents: readonly string[], message = "Work"): RawObject {
  const who = "Agent <agent@example.invalid> 1700000000 +0000";
  const lines = [
    `tree ${treeId}`,
    ...parents.map((id) => `parent ${id}`),
    `author ${who}`,
    `committer ${who}`,
  ];
  return { type: "commit", bytes: Buffer.from(`${lines.join("\n")}\n\n${message}\n`) };
}

const types = { commit: 1, tree: 2, blob: 3 } as const;

/** A pack of whole objects, and of raw entries as they are. */
export function packOf(objects: readonly RawObject[], raw: readonly Buffer[] = [], claimed?: number): Buffer {
  const head = Buffer.alloc(12);
  head.write("PACK");
  head.writeUInt32BE(2, 4);
  head.writeUInt32BE(claimed ?? objects.length + raw.length, 8);
  const entries = objects.map(({ type, bytes }) =>
    Buffer.concat([entryHead(types[type], bytes.length), deflateSync(bytes)]),
  );
  const body = Buffer.concat([head, ...entries, ...raw]);
  return Buffer.concat([body, createHash("sha1").update(body).digest()]);
}

/** A few kilobytes that unfold to as much as is asked: copies of one base, again and again. */
export function deltaBomb(base: RawObject, length: number): Buffer {
  const [copy, piece] = [Buffer.from([0x80 | 0x10 | 0x20, 0xff, 0xff]), 0xffff];
  const count = Math.ceil(length / piece);
  const delta = Buffer.concat([
    ...[size(base.bytes.length), size(count * piece)],
    ...Array.from({ length: count }, () => copy),
  ]);
  return Buffer.concat([entryHead(7, delta.length), Buffer.from(idOf(base), "hex"), deflateSync(delta)]);
}

export function bundleOf(header: string | Buffer, pack: Buffer): Buffer {
  return Buffer.concat([Buffer.from(header), pack]);
}

function entryHead(type: number, length: number): Buffer {
  const bytes: number[] = [];
  let rest = Math.floor(length / 16);
  let byte = (type << 4) | (length & 15);
  while (rest > 0) {
    bytes.push(byte | 0x80);
    byte = rest & 0x7f;
    rest = Math.floor(rest / 128);
  }
  return Buffer.from([...bytes, byte]);
}

function size(length: number): Buffer {
  const bytes: number[] = [];
  let rest = length;
  for (; rest > 127; rest = Math.floor(rest / 128)) bytes.push((rest & 0x7f) | 0x80);
  return Buffer.from([...bytes, rest]);
}
