import { findBundlerLayers } from "./dependencies/bundler-layers.ts";
import { findCargoLayers } from "./dependencies/cargo-layers.ts";
import {
  type DependencyLayer,
  type LayerOptions,
  type LeftOut,
  maxLayers,
} from "./dependencies/dependency-layer.ts";
import { findGoLayers } from "./dependencies/go-layers.ts";
import { findJavascriptLayers } from "./dependencies/javascript-layers.ts";
import { type Commit, manifestTree } from "./dependencies/manifest-tree.ts";
import { findMavenLayers } from "./dependencies/maven-layers.ts";
import { findPythonLayers } from "./dependencies/python-layers.ts";
import { byDepth } from "./tree-path.ts";

export type {
  DependencyLayer,
  LayerOptions,
  LeftOut,
} from "./dependencies/dependency-layer.ts";
export { manifestPaths } from "./dependencies/manifest-tree.ts";

/** Detectors, in the order of the layers of one folder. */
const detectors = [
  findJavascriptLayers,
  findPythonLayers,
  findCargoLayers,
  findGoLayers,
  findBundlerLayers,
  findMavenLayers,
];

const maxShown = 100;

/** The dependency layers of a project's image, from a commit's tracked files; every other manifest is listed with a reason. */
export function findDependencyLayers(
  commit: Commit,
  options: LayerOptions,
): { readonly layers: readonly DependencyLayer[]; readonly leftOut: readonly LeftOut[] } {
  const { tree, leftOut } = manifestTree(commit);
  const findings = detectors.map((detect) => detect(tree, options));
  // Sorting keeps the order of the managers within a folder.
  const layers = findings
    .flatMap((found) => found.layers)
    .sort((one, other) => byDepth(one.folder, other.folder));
  const tooMany = layers.slice(maxLayers).map(({ manager, folder }) => ({
    path: folder,
    reason: `${manager}: there are already ${maxLayers} layers`,
  }));
  return {
    layers: layers.slice(0, maxLayers),
    leftOut: shownLeftOut([...leftOut, ...findings.flatMap((found) => found.leftOut), ...tooMany]),
  };
}

function shownLeftOut(leftOut: readonly LeftOut[]): LeftOut[] {
  if (leftOut.length <= maxShown) return [...leftOut];
  const more = { path: "", reason: `${leftOut.length - maxShown} more were left out` };
  return [...leftOut.slice(0, maxShown), more];
}
