import { open } from "node:fs/promises";

export interface BundleHeader {
  /** The commits that a repository must already have to import the bundle. */
  readonly prerequisites: readonly string[];
  readonly refs: readonly { readonly name: string; readonly id: string }[];
  /** The offset in bytes at which the bundle's pack begins. */
  readonly packOffset: number;
}

/**
 * The maximum size of a bundle's header in bytes, far more than a genuine header needs. A header has one line
 * per prerequisite commit, with the commit's subject.
 */
const maxHeaderBytes = 256 * 1024;
const signature = "# v2 git bundle\n";

/**
 * Reads the header of a git bundle, or returns why swarm rejects the bundle. Stricter than git, which also
 * accepts capabilities and version 3 of the format.
 */
export async function readBundleHeader(file: string): Promise<BundleHeader | { readonly problem: string }> {
  // git before 2.46 does not check the objects that it fetches from a bundle.
  await using handle = await open(file, "r");
  const bytes = Buffer.alloc(maxHeaderBytes);
  let length = 0;
  for (;;) {
    const { bytesRead } = await handle.read(bytes, length, bytes.length - length, length);
    if (bytesRead === 0) break;
    length += bytesRead;
  }
  return parseBundleHeader(bytes.subarray(0, length));
}

function parseBundleHeader(bytes: Buffer): BundleHeader | { readonly problem: string } {
  if (bytes.toString("latin1", 0, signature.length) !== signature)
    return { problem: "the bundle does not begin with the signature of bundle version 2" };
  const prerequisites: string[] = [];
  const refs: { name: string; id: string }[] = [];
  for (let at = signature.length; ; ) {
    const end = bytes.indexOf(10, at);
    if (end < 0) return { problem: `the bundle's header does not end within ${maxHeaderBytes / 1024} KiB` };
    const line = bytes.toString("latin1", at, end);
    at = end + 1;
    if (line === "") return { prerequisites, refs, packOffset: at };
    const [, prerequisite] = /^-([0-9a-f]{40})(?: .*)?$/s.exec(line) ?? [];
    const [, id, name] = /^([0-9a-f]{40}) ([\x21-\x7e\x80-\xff]+)$/.exec(line) ?? [];
    // git writes all prerequisites before the first ref, so refuse a later one.
    if (prerequisite !== undefined && refs.length === 0) prerequisites.push(prerequisite);
    else if (id !== undefined && name !== undefined)
      refs.push({ id, name: Buffer.from(name, "latin1").toString() });
    else return { problem: "a line of the bundle's header is neither a prerequisite nor a ref" };
  }
}
