import { hasControlCharacters } from "../text/sanitize-text.ts";
import { archiveRefusedError } from "./archive-refused.ts";
import { formatEntryName } from "./tar-header.ts";

const maxComponentBytes = 255;

const utf8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/**
 * Checks the name of a tar entry and returns it as a path relative to the archive's root folder. Returns an
 * empty string for the root folder itself. Does not limit the length.
 */
export function parseEntryPath(name: Uint8Array): string {
  const refuse = (reason: string): Error => archiveRefusedError(formatEntryName(name), reason);
  if (name.length === 0) throw refuse("the name is empty");
  if (name.includes(0)) throw refuse("the name contains a NUL character");

  const oddity = findUnprintableNameReason(name);
  if (oddity) throw refuse(oddity);
  const written = decode(name) ?? "";
  if (written === "." || written === "./") return "";

  const path = written.replace(/^\.\//, "").replace(/(?<=[^/])\/$/, "");
  if (/^(?:\/|\\|[a-z]:[\\/])/i.test(path)) throw refuse("the name is an absolute path");
  for (const component of path.split("/")) {
    if (component === "..") throw refuse("the name has a `..` component");
    if (component === "" || component === ".") throw refuse("the name has an empty or `.` component");
  }
  return path;
}

/** Returns why an entry's path is too long, or undefined if it is short enough. */
export function findPathLengthProblem(
  path: string,
  { nameBytes }: { readonly nameBytes: number },
): string | undefined {
  if (Buffer.byteLength(path) > nameBytes) return `the name is longer than ${nameBytes} bytes`;
  if (path.split("/").some((component) => Buffer.byteLength(component) > maxComponentBytes))
    return `a component of the name is longer than ${maxComponentBytes} bytes`;
  return undefined;
}

/** Returns why an entry's name cannot be shown or typed, or undefined if it can. */
export function findUnprintableNameReason(name: Uint8Array): string | undefined {
  const written = decode(name);
  if (written === undefined) return "the name is not UTF-8";
  if (/[\r\n\t]/.test(written) || hasControlCharacters(written.replaceAll("\0", "")))
    return "the name contains a control character";
  return undefined;
}

/**
 * A path that an earlier entry of the archive uses: a folder with the used paths in it, or a `leaf`, which is
 * anything other than a folder.
 */
type Claim = FolderClaim | "leaf";

interface FolderClaim {
  /**
   * Whether the archive has an entry for the folder itself. If not, the folder occurs only in the paths of
   * other entries.
   */
  hasOwnEntry: boolean;
  below?: Map<string, Claim>;
}

/**
 * Either the folders that must be created for an entry, the outermost first, or a description of the limit
 * that the archive exceeds.
 */
export type PathRegistrationResult = { readonly newFolders: readonly string[] } | { readonly excess: string };

/**
 * Maximum number of characters in the names of all files and folders of an archive together. A folder's name
 * counts once, however many entries the folder has.
 */
const maxNameCharacters = 32 * 1024 * 1024;

/**
 * Makes a function that records the path of each archive entry, and refuses a path that occurs twice or whose
 * parent is not a folder. The limit on entries includes folders without their own entry, because the unpacker
 * creates them, too.
 */
export function createPathRegistry({
  entries,
}: {
  readonly entries: number;
}): (path: string, isFolder: boolean) => PathRegistrationResult {
  let claimed = 0;
  let charactersLeft = maxNameCharacters;
  const root: FolderClaim = { hasOwnEntry: false };

  // Use a tree, not a set of paths, so that a deep path costs no more memory than its length.
  return (path, isFolder) => {
    const newFolders: string[] = [];
    let here = root;
    for (let start = 0; start < path.length; ) {
      const slash = path.indexOf("/", start);
      const end = slash < 0 ? path.length : slash;
      const name = path.slice(start, end);
      const isLeaf = slash < 0 && !isFolder;
      start = end + 1;

      const before = here.below?.get(name);
      if (before === "leaf")
        throw archiveRefusedError(path, slash < 0 ? twice : "the parent of the entry is not a folder");
      if (before && isLeaf) throw archiveRefusedError(path, twice);
      if (before) {
        here = before;
        continue;
      }
      claimed += 1;
      charactersLeft -= name.length;
      if (claimed > entries) return { excess: `the archive has more than ${entries} files and folders` };
      if (charactersLeft < 0)
        return { excess: `the names have more than ${maxNameCharacters} characters in total` };
      here.below ??= new Map();
      const claim: Claim = isLeaf ? "leaf" : { hasOwnEntry: false };
      // Copy the name: a slice would keep the whole path in memory.
      here.below.set(Buffer.from(name).toString(), claim);
      if (claim === "leaf") return { newFolders };
      newFolders.push(path.slice(0, end));
      here = claim;
    }
    if (here.hasOwnEntry) throw archiveRefusedError(path, twice);
    here.hasOwnEntry = true;
    return { newFolders };
  };
}

const twice = "the archive contains the name twice";

function decode(name: Uint8Array): string | undefined {
  try {
    return utf8.decode(name);
  } catch {
    // With the option `fatal`, the decoder throws if the name is not UTF-8.
    return undefined;
  }
}
