import { hasControlCharacters } from "../domain/clean-text.ts";
import { refusal } from "./refusal.ts";
import { showName } from "./tar-header.ts";

const maxComponentBytes = 255;

const utf8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/** The path of an entry, relative to the archive's folder and of any length; empty for that folder itself. */
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

/** Why a path is too long for this machine; undefined for an ordinary one. */
export function findExcess(path: string, { nameBytes }: { readonly nameBytes: number }): string | undefined {
  if (Buffer.byteLength(path) > nameBytes) return `the name is longer than ${nameBytes} bytes`;
  if (path.split("/").some((component) => Buffer.byteLength(component) > maxComponentBytes))
    return `a part of the name is longer than ${maxComponentBytes} bytes`;
  return undefined;
}

/** Why a name cannot be shown or typed; undefined for an ordinary one. */
export function findOddity(name: Uint8Array): string | undefined {
  const written = decode(name);
  if (written === undefined) return "the name is not UTF-8";
  if (/[\r\n\t]/.test(written) || hasControlCharacters(written.replaceAll("\0", "")))
    return "control character in the name";
  return undefined;
}

/** A claimed path: a folder with its claimed children, or anything else. */
type Claim = FolderClaim | "leaf";

interface FolderClaim {
  /** Whether the folder has an entry of its own, rather than only being part of other entries' paths. */
  hasOwnEntry: boolean;
  below?: Map<string, Claim>;
}

/** The folders to create before a path, outermost first; or the limit that the path exceeds. */
export type Claimed = { readonly newFolders: readonly string[] } | { readonly excess: string };

/** Maximum characters of all remembered names of an archive, each part of a path counted once. */
const maxNameCharacters = 32 * 1024 * 1024;

/**
 * Remembers the paths of an archive. Refuses a path that was claimed before or lies below an entry that is
 * not a folder. Folders that other paths only imply count as well, because the unpacker creates them, too.
 */
export function pathClaims({
  entries,
}: {
  readonly entries: number;
}): (path: string, kind: "leaf" | "folder") => Claimed {
  let claimed = 0;
  let charactersLeft = maxNameCharacters;
  const root: FolderClaim = { hasOwnEntry: false };

  // A tree, not a set of paths, so that a deep path costs no more than its length.
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
        return { excess: `the names are longer than ${maxNameCharacters} characters together` };
      here.below ??= new Map();
      const claim: Claim = isLeaf ? "leaf" : { hasOwnEntry: false };
      // Copy the name: a slice would keep the whole path in memory.
      here.below.set(Buffer.from(name).toString(), claim);
      if (claim === "leaf") return { newFolders };
      newFolders.push(path.slice(0, end));
      here = claim;
    }
    if (here.hasOwnEntry) throw refusal(path, twice);
    here.hasOwnEntry = true;
    return { newFolders };
  };
}

const twice = "the name comes twice";

function decode(name: Uint8Array): string | undefined {
  try {
    return utf8.decode(name);
  } catch {
    // With `fatal` the decoder throws when the name is not UTF-8.
    return undefined;
  }
}
