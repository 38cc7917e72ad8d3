/** What a tree of git says of one name. */
export interface TreeEntry {
  /** Six digits, as git shows them. */
  readonly mode: string;
  readonly name: string;
  readonly id: string;
}

const idBytes = 20;
const [space, slash] = [0x20, 0x2f];

/** A position in a tree's bytes: `100644 name<NUL><20 bytes>`, and so on. */
interface Cursor {
  readonly bytes: Buffer;
  readonly mode: string;
  readonly nameAt: number;
  readonly nameEnd: number;
}

/**
 * The entries of two trees by name, null where only one has it. In git's own order, in step: a name that stands at another
 * place than git would put it shows as gone and new, never as unchanged.
 */
export function* pairsOf(was: Buffer, now: Buffer): Generator<[TreeEntry | null, TreeEntry | null]> {
  let [old, entry] = [cursorAt(was, 0), cursorAt(now, 0)];
  while (old || entry) {
    const order = !old ? 1 : !entry ? -1 : inOrder(old, entry);
    yield [old && order <= 0 ? entryAt(old) : null, entry && order >= 0 ? entryAt(entry) : null];
    if (old && order <= 0) old = cursorAt(was, old.nameEnd + 1 + idBytes);
    if (entry && order >= 0) entry = cursorAt(now, entry.nameEnd + 1 + idBytes);
  }
}

function cursorAt(bytes: Buffer, at: number): Cursor | null {
  if (at >= bytes.length) return null;
  const modeEnd = bytes.indexOf(space, at);
  const nameEnd = bytes.indexOf(0, modeEnd + 1);
  if (modeEnd < 0 || nameEnd < 0 || nameEnd + 1 + idBytes > bytes.length)
    throw new Error("git gave a tree that it does not write");
  const mode = bytes.toString("latin1", at, modeEnd).padStart(6, "0");
  return { bytes, mode, nameAt: modeEnd + 1, nameEnd };
}

function entryAt({ bytes, mode, nameAt, nameEnd }: Cursor): TreeEntry {
  const idAt = nameEnd + 1;
  return {
    mode,
    name: bytes.toString("utf8", nameAt, nameEnd),
    id: bytes.toString("hex", idAt, idAt + idBytes),
  };
}

/** By bytes; of one name the file comes before the folder, which is another thing. */
function inOrder(one: Cursor, other: Cursor): number {
  const length = Math.min(one.nameEnd - one.nameAt, other.nameEnd - other.nameAt);
  const [from, to] = [other.nameAt, one.nameAt];
  const begun = one.bytes.compare(other.bytes, from, from + length, to, to + length);
  if (begun !== 0) return begun;
  return afterName(one, length) - afterName(other, length);
}

/** git puts a folder where its name with a slash would stand. */
function afterName({ bytes, mode, nameAt, nameEnd }: Cursor, length: number): number {
  if (nameAt + length < nameEnd) return bytes[nameAt + length] ?? 0;
  return mode === "040000" ? slash : 0;
}
