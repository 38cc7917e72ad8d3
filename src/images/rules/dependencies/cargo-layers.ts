import { joinPath, resolvePath } from "../../../text/tree-path.ts";
import { renderAptInstall } from "./dependency-layer.ts";
import { findQuotedStrings, parseTomlSections, readTomlWorkspace } from "./manifest-text.ts";
import {
  type FolderLayerVerdict,
  findWorkspaceMembers,
  type LayerDetector,
  type ManifestTree,
  relativeTo,
} from "./manifest-tree.ts";

const manifest = "Cargo.toml";

/**
 * Finds the dependency layers of an image for folders with both a Cargo.toml and a Cargo.lock. The
 * repository's root folder needs no Cargo.lock.
 */
export const cargoLayers: LayerDetector = { manifests: [manifest], judge };

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

  const packages = new Set([
    folder,
    ...findWorkspaceMembers(tree, folder, manifest, workspaceOf(tree, folder)),
  ]);
  for (const each of packages) {
    const path = joinPath(each, manifest);
    for (const wanted of localPackages(tree.text(path))) {
      const other = resolvePath(each, wanted);
      if (other === null || !tree.has(joinPath(other, manifest)))
        return {
          path,
          reason: "this Cargo.toml depends on a package in a folder that has no Cargo.toml",
        };
      packages.add(other);
    }
  }

  const configurations = tree.present(
    folder,
    ".cargo/config.toml",
    ".cargo/config",
    "rust-toolchain.toml",
    "rust-toolchain",
  );
  const isVendored = configurations.some((each) => /^\s*directory\s*=/m.test(tree.text(each)));
  if (isVendored) return { layer: { manager: "cargo", files: [], prepare } };

  const manifests = [...packages].map((each) => joinPath(each, manifest));
  return {
    layer: {
      manager: "cargo",
      files: [...manifests, ...configurations, ...tree.present(folder, "Cargo.lock")],
      emptyFiles: [...packages].flatMap((each) => targetsOf(tree, each)),
      prepare,
      // If there is no lockfile, Cargo writes one. Remove it: the installation must not change the tree.
      install: [tree.has(lock) ? "cargo fetch --locked" : "cargo fetch && rm -f Cargo.lock"],
    },
    covers: [...packages].filter((each) => each !== folder && !tree.has(joinPath(each, "Cargo.lock"))),
  };
}

function workspaceOf(tree: ManifestTree, folder: string): string[] {
  return readTomlWorkspace(parseTomlSections(tree.text(joinPath(folder, manifest))), "workspace");
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
  const named = parseTomlSections(tree.text(joinPath(folder, manifest)))
    .filter(({ name }) => /^(?:package|lib|bin|example|test|bench)$/.test(name))
    .flatMap(({ body }) => [...body.matchAll(/^(?:path|build)\s*=\s*"([^"\n]*)"/gm)])
    .flatMap(([, relative = ""]) => resolvePath(folder, relative) ?? [])
    .filter((path) => tree.tracks(path) && !tree.has(path));
  return [...named, ...tree.trackedBelow(folder).filter((path) => targets.test(relativeTo(folder, path)))];
}
