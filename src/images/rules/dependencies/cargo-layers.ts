import { isPathBelow, joinPath, resolvePath } from "../../../text/tree-path.ts";
import { createDependencyLayer, type DependencyLayerFindings, renderAptInstall } from "./dependency-layer.ts";
import {
  createWorkspaceMatcher,
  findQuotedStrings,
  parseTomlSections,
  readTomlList,
} from "./manifest-text.ts";
import { type FolderLayerVerdict, findDependencyLayersByFolder, type ManifestTree } from "./manifest-tree.ts";

/**
 * Finds the dependency layers of an image for folders with both a Cargo.toml and a Cargo.lock. The
 * repository's root folder needs no Cargo.lock.
 */
export function findCargoLayers(tree: ManifestTree): DependencyLayerFindings {
  return findDependencyLayersByFolder(tree.foldersWith("Cargo.toml"), (folder) => judge(tree, folder));
}

/**
 * Shell lines that install the newest Cargo of the Linux distribution, because a Cargo before 1.78 cannot
 * read today's lockfiles.
 */
const prepare: readonly string[] = [
  renderAptInstall(
    `"$(apt-cache pkgnames cargo | grep -xE 'cargo(-web|-1\\.[0-9]+)?' | sort -V | tail -n 1)"`,
    "ca-certificates",
  ),
  `for tool in cargo rustc; do command -v $tool || ln -s "$(ls /usr/bin/$tool-1.* | sort -V | tail -n 1)" /usr/local/bin/$tool; done`,
];

function judge(tree: ManifestTree, folder: string): FolderLayerVerdict {
  const lock = joinPath(folder, "Cargo.lock");
  if (!tree.has(lock) && folder !== "") return null;

  const packages = new Set([folder, ...workspaceMembers(tree, folder)]);
  for (const each of packages) {
    for (const wanted of localPackages(tree.readText(joinPath(each, "Cargo.toml")) ?? "")) {
      const other = resolvePath(each, wanted);
      if (other === null || !tree.has(joinPath(other, "Cargo.toml")))
        return {
          path: joinPath(each, "Cargo.toml"),
          reason: "this Cargo.toml depends on a package in a folder that has no Cargo.toml",
        };
      packages.add(other);
    }
  }

  const manifests = [...packages].map((each) => joinPath(each, "Cargo.toml"));
  const configurations = [".cargo/config.toml", ".cargo/config", "rust-toolchain.toml", "rust-toolchain"]
    .map((name) => joinPath(folder, name))
    .filter(tree.has);
  const isVendored = configurations.some((each) => /^\s*directory\s*=/m.test(tree.readText(each) ?? ""));
  if (isVendored) return { layer: createDependencyLayer({ manager: "cargo", folder, files: [], prepare }) };

  const tracked = [...packages].flatMap((each) => targetsOf(tree, each));
  return {
    layer: createDependencyLayer({
      manager: "cargo",
      folder,
      files: [...manifests, ...configurations, ...(tree.has(lock) ? [lock] : [])].sort(),
      emptyFiles: [...new Set(tracked)].sort(),
      prepare,
      // If there is no lockfile, Cargo writes one. Remove it: the installation must not change the tree.
      install: [tree.has(lock) ? "cargo fetch --locked" : "cargo fetch && rm -f Cargo.lock"],
    }),
    covers: [...packages].filter((each) => each !== folder && !tree.has(joinPath(each, "Cargo.lock"))),
  };
}

function workspaceMembers(tree: ManifestTree, root: string): string[] {
  const sections = parseTomlSections(tree.readText(joinPath(root, "Cargo.toml")) ?? "");
  const workspace = sections.find(({ name }) => name === "workspace")?.body ?? "";
  const isMember = createWorkspaceMatcher([
    ...readTomlList(workspace, "members"),
    ...readTomlList(workspace, "exclude").map((pattern) => `!${pattern}`),
  ]);
  const offset = root === "" ? 0 : root.length + 1;
  return tree
    .foldersWith("Cargo.toml")
    .filter((other) => other !== root && isPathBelow(root, other) && isMember(other.slice(offset)));
}

function localPackages(text: string): string[] {
  return parseTomlSections(text)
    .filter(({ name }) => /dependencies|^patch\.|^replace$/.test(name))
    .flatMap(({ body }) =>
      [...body.matchAll(/(?:^|[{,])\s*path\s*=\s*("[^"\n]*"|'[^'\n]*')/gm)].flatMap(([, quoted = ""]) =>
        findQuotedStrings(quoted),
      ),
    );
}

const targets =
  /^(?:build\.rs|src\/(?:lib|main)\.rs|(?:src\/bin|examples|tests|benches)\/(?:[^/]+\.rs|[^/]+\/main\.rs))$/;

/**
 * Finds the source files of a package's build targets, such as `src/main.rs`. Cargo checks that these files
 * exist before it fetches dependencies, but does not read them.
 */
function targetsOf(tree: ManifestTree, folder: string): string[] {
  const named = parseTomlSections(tree.readText(joinPath(folder, "Cargo.toml")) ?? "")
    .filter(({ name }) => /^(?:package|lib|bin|example|test|bench)$/.test(name))
    .flatMap(({ body }) => [...body.matchAll(/^(?:path|build)\s*=\s*"([^"\n]*)"/gm)])
    .flatMap(([, relative = ""]) => resolvePath(folder, relative) ?? [])
    .filter((path) => tree.tracks(path) && !tree.has(path));
  const offset = folder === "" ? 0 : folder.length + 1;
  return [...named, ...tree.trackedBelow(folder).filter((path) => targets.test(path.slice(offset)))];
}
