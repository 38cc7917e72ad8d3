/**
 * One entry of a git tree object. Its name and ID are decoded only on demand, because most entries need
 * neither.
 */
export interface GitTreeEntry {
  /** The git mode of the entry, in six octal digits, such as `100644`. */
  readonly mode: string;
  readonly nameBytes: number;
  name(): string;
  id(): string;
}

const idBytes = 20;
const [space, slash] = [0x20, 0x2f];

/**
 * A tree entry that is read from the raw bytes of a git tree object, where entries have the form `100644
 * name<NUL><20 bytes>`.
 */
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
 * Pairs the entries of two tree objects by name; if one tree has no entry with the name, that side of the
 * pair is null. An entry that is not in git's sort order appears as deleted and added, never as unchanged.
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
 * Compares two tree entries by name in git's sort order. A file sorts before a folder of the same name, and
 * the two are not equal.
 */
function inOrder(one: Cursor, other: Cursor): number {
  const length = Math.min(one.nameBytes, other.nameBytes);
  const [from, to] = [other.nameAt, one.nameAt];
  const begun = one.bytes.compare(other.bytes, from, from + length, to, to + length);
  if (begun !== 0) return begun;
  return afterName(one, length) - afterName(other, length);
}

/**
 * Returns the name's byte at the index `length`, for a comparison in git's sort order. If the name ends
 * before this index, returns a slash for a folder and 0 for a file.
 */
function afterName({ bytes, mode, nameAt, nameEnd }: Cursor, length: number): number {
  if (nameAt + length < nameEnd) return bytes[nameAt + length] ?? 0;
  return mode === "040000" ? slash : 0;
}
