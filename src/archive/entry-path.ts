import { hasControlCharacters } from "../domain/clean-text.ts";
import { refusal } from "./refusal.ts";
import { showName } from "./tar-header.ts";

const longestComponentBytes = 255;

const utf8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/** The path of an entry below the folder that it is for, of any length; empty for that folder itself. */
export function parseEntryPath(name: Uint8Array): string {
  const refuse = (reason: string): Error => refusal(showName(name), reason);
  if (name.length === 0) throw refuse("the name is empty");
  if (name.includes(0)) throw refuse("there is a NUL in the name");

  const oddity = findOddity(name);
  if (oddity) throw refuse(oddity);
  const written = decode(name) ?? "";
  if (written === "." || written === "./") return "";

  const path = written.replace(/^\.\//, "").replace(/(?<=[^/])\/$/, "");
  if (/^(?:\/|\\|[a-z]:[\\/])/i.test(path)) throw refuse("the name is absolute");
  for (const component of path.split("/")) {
    if (component === "..") throw refuse("the name leads out of its folder");
    if (component === "" || component === ".") throw refuse("the name has an empty part");
  }
  return path;
}

/** What makes a path too long to be made here; undefined for an ordinary one. */
export function findExcess(path: string, { nameBytes }: { readonly nameBytes: number }): string | undefined {
  if (Buffer.byteLength(path) > nameBytes) return `the name is longer than ${nameBytes} bytes`;
  if (path.split("/").some((component) => Buffer.byteLength(component) > longestComponentBytes))
    return `a part of the name is longer than ${longestComponentBytes} bytes`;
  return undefined;
}

/** What makes a name one that nobody can show or type; undefined for an ordinary one. */
export function findOddity(name: Uint8Array): string | undefined {
  const written = decode(name);
  if (written === undefined) return "the name is not UTF-8";
  if (/[\r\n\t]/.test(written) || hasControlCharacters(written.replaceAll("\0", "")))
    return "control character in the name";
  return undefined;
}

/** A path that is taken: a folder with what is in it, or anything else. */
type Claim = FolderClaim | "leaf";

interface FolderClaim {
  /** Whether an entry named it, and not only the names of others. */
  isTold: boolean;
  below?: Map<string, Claim>;
}

/** What must be made for a path first, outermost first; or why there is no room for it. */
export type Claimed = { readonly newFolders: readonly string[] } | { readonly excess: string };

/** All names of an archive that are remembered, each part of a path once. */
const mostNameCharacters = 32 * 1024 * 1024;

/**
 * Remembers the paths of an archive. To claim one is refused if it was claimed before or lies below something that is no
 * folder; folders that only the names of others imply count as well, for they are made all the same.
 */
export function pathClaims({
  entries,
}: {
  readonly entries: number;
}): (path: string, kind: "leaf" | "folder") => Claimed {
  let claimed = 0;
  let charactersLeft = mostNameCharacters;
  const root: FolderClaim = { isTold: false };

  // A tree and not a set of paths: what a deep path costs is then no more than its length.
  return (path, kind) => {
    const newFolders: string[] = [];
    let here = root;
    for (let start = 0; start < path.length; ) {
      const slash = path.indexOf("/", start);
      const end = slash < 0 ? path.length : slash;
      const name = path.slice(start, end);
      const isLeaf = slash < 0 && kind === "leaf";
      start = end + 1;

      const before = here.below?.get(name);
      if (before === "leaf")
        throw refusal(path, slash < 0 ? twice : "it lies below something that is not a folder");
      if (before && isLeaf) throw refusal(path, twice);
      if (before) {
        here = before;
        continue;
      }
      claimed += 1;
      charactersLeft -= name.length;
      if (claimed > entries) return { excess: `there are more than ${entries} files and folders` };
      if (charactersLeft < 0)
        return { excess: `the names are longer than ${mostNameCharacters} characters together` };
      here.below ??= new Map();
      const claim: Claim = isLeaf ? "leaf" : { isTold: false };
      // A copy, for a slice would keep the whole path alive.
      here.below.set(Buffer.from(name).toString(), claim);
      if (claim === "leaf") return { newFolders };
      newFolders.push(path.slice(0, end));
      here = claim;
    }
    if (here.isTold) throw refusal(path, twice);
    here.isTold = true;
    return { newFolders };
  };
}

const twice = "the name comes twice";

function decode(name: Uint8Array): string | undefined {
  try {
    return utf8.decode(name);
  } catch {
    // With `fatal` this is how a decoder says that it is not UTF-8.
    return undefined;
  }
}
