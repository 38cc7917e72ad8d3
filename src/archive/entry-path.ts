import { hasControlCharacters } from "../domain/clean-text.ts";
import { refusal } from "./refusal.ts";
import { showName } from "./tar-header.ts";

const longestComponentBytes = 255;

const utf8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/** The path of an entry below the folder that it is for; empty for that folder itself. */
export function parseEntryPath(name: Uint8Array, { nameBytes }: { readonly nameBytes: number }): string {
  const refuse = (reason: string): Error => refusal(showName(name), reason);
  if (name.length === 0) throw refuse("the name is empty");
  if (name.includes(0)) throw refuse("there is a NUL in the name");

  const oddity = findOddity(name);
  if (oddity) throw refuse(oddity);
  const written = decode(name) ?? "";
  if (written === "." || written === "./") return "";

  const path = written.replace(/^\.\//, "").replace(/(?<=[^/])\/$/, "");
  if (/^(?:\/|\\|[a-z]:[\\/])/i.test(path)) throw refuse("the name is absolute");
  if (Buffer.byteLength(path) > nameBytes) throw refuse(`the name is longer than ${nameBytes} bytes`);
  for (const component of path.split("/")) {
    if (component === "..") throw refuse("the name leads out of its folder");
    if (component === "" || component === ".") throw refuse("the name has an empty part");
    if (Buffer.byteLength(component) > longestComponentBytes)
      throw refuse(`a part of the name is longer than ${longestComponentBytes} bytes`);
  }
  return path;
}

/** What makes a name one that nobody can show or type; undefined for an ordinary one. */
export function findOddity(name: Uint8Array): string | undefined {
  const written = decode(name);
  if (written === undefined) return "the name is not UTF-8";
  if (/[\r\n\t]/.test(written) || hasControlCharacters(written.replaceAll("\0", "")))
    return "control character in the name";
  return undefined;
}

interface Claim {
  readonly kind: "leaf" | "folder" | "implied";
  readonly below: Map<string, Claim>;
}

/**
 * Remembers the paths of an archive. To claim one is refused if it was claimed before, lies below something that is no
 * folder, or is one too many; folders that only the names of others imply count as well, for they are made all the same.
 */
export function pathClaims({
  entries,
}: {
  readonly entries: number;
}): (path: string, kind: "leaf" | "folder") => void {
  let claimed = 0;
  let isRootClaimed = false;
  const root: Claim = { kind: "folder", below: new Map() };

  // A tree and not a set of paths: what a deep path costs is then no more than its length.
  return (path, kind) => {
    if (path === "") {
      if (isRootClaimed) throw refusal(path, "the name comes twice");
      isRootClaimed = true;
      return;
    }

    const parents = path.split("/");
    const last = parents.pop() ?? "";
    let here = root;
    for (const parent of parents) {
      here = here.below.get(parent) ?? add(here, parent, "implied", path);
      if (here.kind === "leaf") throw refusal(path, "it lies below something that is not a folder");
    }
    const before = here.below.get(last);
    if (before && (before.kind !== "implied" || kind !== "folder"))
      throw refusal(path, "the name comes twice");
    add(here, last, kind, path, before);
  };

  function add(to: Claim, name: string, kind: Claim["kind"], path: string, before?: Claim): Claim {
    if (!before && claimed >= entries)
      throw refusal(path, `there are more than ${entries} files and folders`);
    if (!before) claimed += 1;
    const claim: Claim = { kind, below: before?.below ?? new Map() };
    to.below.set(name, claim);
    return claim;
  }
}

function decode(name: Uint8Array): string | undefined {
  try {
    return utf8.decode(name);
  } catch {
    // With `fatal` this is how a decoder says that it is not UTF-8.
    return undefined;
  }
}
