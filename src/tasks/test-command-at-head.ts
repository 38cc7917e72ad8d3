import type { CommitReader } from "../git/commit-reader-port.ts";
import { findDependencyLayers, manifestPaths } from "../images/rules/dependencies/dependency-layers.ts";
import {
  type RecognisedTestCommand,
  recogniseTestCommand,
  testManifestNames,
} from "./rules/recognise-test-command.ts";

const ownDockerfile = ".aimi/Dockerfile.sandbox";
const maxFileBytes = 1024 * 1024;

/**
 * Finds out the command that runs the repository's tests. Reads only files that are committed at HEAD,
 * because workers see only these files.
 */
export async function findTestCommandAtHead(
  commits: Pick<CommitReader, "head" | "files" | "contents">,
): Promise<RecognisedTestCommand> {
  const head = await commits.head();
  if (head === null) return { kind: "none" };
  const tracked = await commits.files(head);
  const plain = tracked.filter(({ kind }) => kind === "file" || kind === "program");
  const paths = plain.map(({ path }) => path);
  const wanted = new Set([...manifestPaths(paths), ...testManifestNames]);
  const read = plain.filter(({ path }) => wanted.has(path));
  const contents = await commits.contents(read.map(({ id }) => id));
  const textByPath = new Map(
    read.flatMap(({ path }, index): [string, string][] => {
      const bytes = contents[index];
      return bytes && bytes.length <= maxFileBytes ? [[path, Buffer.from(bytes).toString()]] : [];
    }),
  );
  const tree = { paths, readText: (path: string) => textByPath.get(path) };
  const { layers } = findDependencyLayers(tree, { ignoreScripts: false });
  return recogniseTestCommand(tree, { layers, isOwn: paths.includes(ownDockerfile) });
}
