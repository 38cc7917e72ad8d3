/** One entry of a git tree. Its name and ID are decoded on demand, because most are never used. */
export interface GitTreeEntry {
  /** The mode of the entry in six octal digits, as git prints it. */
  readonly mode: string;
  readonly nameBytes: number;
  name(): string;
  id(): string;
}

const idBytes = 20;
const [space, slash] = [0x20, 0x2f];

/** A position in the bytes of a git tree, which are a sequence of `100644 name<NUL><20 bytes>`. */
class Cursor implements GitTreeEntry {
  readonly bytes: Buffer;
  readonly mode: string;
  readonly nameAt: number;
  readonly nameEnd: number;

  constructor(bytes: Buffer, at: number) {
    const modeEnd = bytes.indexOf(space, at);
    const nameEnd = bytes.indexOf(0, modeEnd + 1);
    if (modeEnd < 0 || nameEnd < 0 || nameEnd + 1 + idBytes > bytes.length)
      throw new Error("git returned a malformed tree");
    this.bytes = bytes;
    this.mode = bytes.toString("latin1", at, modeEnd).padStart(6, "0");
    this.nameAt = modeEnd + 1;
    this.nameEnd = nameEnd;
  }

  get nameBytes(): number {
    return this.nameEnd - this.nameAt;
  }

  get end(): number {
    return this.nameEnd + 1 + idBytes;
  }

  name(): string {
    return this.bytes.toString("utf8", this.nameAt, this.nameEnd);
  }

  id(): string {
    return this.bytes.toString("hex", this.nameEnd + 1, this.end);
  }
}

/**
 * Pairs the entries of two trees by name; if one tree lacks a name, its side of the pair is null. An entry
 * that breaks git's order of names appears as deleted and added, never as unchanged.
 */
export function* pairTreeEntries(
  was: Buffer,
  now: Buffer,
): Generator<[GitTreeEntry | null, GitTreeEntry | null]> {
  let [old, entry] = [cursorAt(was, 0), cursorAt(now, 0)];
  while (old || entry) {
    const order = !old ? 1 : !entry ? -1 : inOrder(old, entry);
    yield [old && order <= 0 ? old : null, entry && order >= 0 ? entry : null];
    if (old && order <= 0) old = cursorAt(was, old.end);
    if (entry && order >= 0) entry = cursorAt(now, entry.end);
  }
}

function cursorAt(bytes: Buffer, at: number): Cursor | null {
  return at >= bytes.length ? null : new Cursor(bytes, at);
}

/**
 * Compares two entries by the bytes of their names. A file sorts before a folder of the same name and is not
 * equal to it.
 */
function inOrder(one: Cursor, other: Cursor): number {
  const length = Math.min(one.nameBytes, other.nameBytes);
  const [from, to] = [other.nameAt, one.nameAt];
  const begun = one.bytes.compare(other.bytes, from, from + length, to, to + length);
  if (begun !== 0) return begun;
  return afterName(one, length) - afterName(other, length);
}

/**
 * Returns the byte of a name at the position `length`. If the name ends there, returns a slash for a folder
 * and 0 for a file, as in git's order.
 */
function afterName({ bytes, mode, nameAt, nameEnd }: Cursor, length: number): number {
  if (nameAt + length < nameEnd) return bytes[nameAt + length] ?? 0;
  return mode === "040000" ? slash : 0;
}
