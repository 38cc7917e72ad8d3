import { compareByDepth } from "../../../text/tree-path.ts";
import { bundlerLayers } from "./bundler-layers.ts";
import { cargoLayers } from "./cargo-layers.ts";
import {
  type DependencyLayerFindings,
  type DependencyLayerOptions,
  maxLayers,
  type PathWithoutDependencyLayer,
} from "./dependency-layer.ts";
import { goLayers } from "./go-layers.ts";
import { javascriptLayers } from "./javascript-layers.ts";
import {
  type CommitFiles,
  createManifestTree,
  findDependencyLayersOfKind,
  type LayerDetector,
} from "./manifest-tree.ts";
import { mavenLayers } from "./maven-layers.ts";
import { pythonLayers } from "./python-layers.ts";

export type { DependencyLayer } from "./dependency-layer.ts";
export { manifestPaths } from "./manifest-tree.ts";

/**
 * The detectors of dependency layers, one for each kind of project. If several of them find a layer for the
 * same folder, the layers have this order.
 */
const detectors: readonly LayerDetector[] = [
  javascriptLayers,
  pythonLayers,
  cargoLayers,
  goLayers,
  bundlerLayers,
  mavenLayers,
];

const maxShown = 100;

/**
 * Finds the dependency layers of a project's image from the files of a commit. `leftOut` lists the files and
 * folders that get no layer, each with the reason.
 */
export function findDependencyLayers(
  commit: CommitFiles,
  options: DependencyLayerOptions,
): DependencyLayerFindings {
  const { tree, leftOut } = createManifestTree(commit);
  const findings = detectors.map((detector) => findDependencyLayersOfKind(detector, tree, options));
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
