import { compareByDepth } from "../../../text/tree-path.ts";
import { findBundlerLayers } from "./bundler-layers.ts";
import { findCargoLayers } from "./cargo-layers.ts";
import {
  type DependencyLayer,
  type DependencyLayerOptions,
  maxLayers,
  type PathWithoutDependencyLayer,
} from "./dependency-layer.ts";
import { findGoLayers } from "./go-layers.ts";
import { findJavascriptLayers } from "./javascript-layers.ts";
import { type CommitFiles, createManifestTree } from "./manifest-tree.ts";
import { findMavenLayers } from "./maven-layers.ts";
import { findPythonLayers } from "./python-layers.ts";

export type { DependencyLayer } from "./dependency-layer.ts";
export { manifestPaths } from "./manifest-tree.ts";

/**
 * The functions that find dependency layers, one for each kind of project. If several of them find a layer
 * for the same folder, the layers have this order.
 */
const detectors = [
  findJavascriptLayers,
  findPythonLayers,
  findCargoLayers,
  findGoLayers,
  findBundlerLayers,
  findMavenLayers,
];

const maxShown = 100;

/**
 * Finds the dependency layers of a project's image from the files of a commit. `leftOut` lists the files and
 * folders that get no layer, each with the reason.
 */
export function findDependencyLayers(
  commit: CommitFiles,
  options: DependencyLayerOptions,
): { readonly layers: readonly DependencyLayer[]; readonly leftOut: readonly PathWithoutDependencyLayer[] } {
  const { tree, leftOut } = createManifestTree(commit);
  const findings = detectors.map((detect) => detect(tree, options));
  // The sort is stable: layers of one folder keep the order of their detectors.
  const layers = findings
    .flatMap((found) => found.layers)
    .sort((one, other) => compareByDepth(one.folder, other.folder));
  const tooMany = layers.slice(maxLayers).map(({ manager, folder }) => ({
    path: folder,
    reason: `${manager}: the image already has its maximum of ${maxLayers} dependency layers`,
  }));
  return {
    layers: layers.slice(0, maxLayers),
    leftOut: shownLeftOut([...leftOut, ...findings.flatMap((found) => found.leftOut), ...tooMany]),
  };
}

function shownLeftOut(leftOut: readonly PathWithoutDependencyLayer[]): PathWithoutDependencyLayer[] {
  if (leftOut.length <= maxShown) return [...leftOut];
  const more = { path: "", reason: `swarm left out ${leftOut.length - maxShown} more paths` };
  return [...leftOut.slice(0, maxShown), more];
}
