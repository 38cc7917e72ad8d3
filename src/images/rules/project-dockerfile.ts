import type { DependencyLayer } from "./dependencies/dependency-layer.ts";
import { joinShellLines, renderRunInstruction, requireImageReference } from "./dockerfile-text.ts";
import { type BundleTransfer, workspaceLayer } from "./workspace-layer.ts";

/**
 * Renders the Dockerfile of a project's image from swarm's template and the layers with the project's
 * dependencies.
 */
export function renderProjectDockerfile({
  template,
  base,
  layers,
  transfer,
}: {
  readonly template: string;
  readonly base: string;
  readonly layers: readonly DependencyLayer[];
  readonly transfer: BundleTransfer;
}): string {
  return fillTemplate(template, {
    base: requireImageReference(base),
    prepare: prepareInstruction(layers),
    environment: environmentInstruction(layers),
    dependencies: layers.flatMap(dependencyInstructions).join("\n"),
    workspace: workspaceLayer(transfer),
  });
}

/**
 * Returns the files that the dependency layers need in the build context. `from` is the tracked file to copy;
 * null means an empty file.
 */
export function dependencyBuildContext(
  layers: readonly DependencyLayer[],
): { readonly path: string; readonly from: string | null }[] {
  return layers.flatMap(({ files, emptyFiles }, index) => [
    ...files.map((path) => ({ path: `deps/${index}/${path}`, from: path })),
    ...emptyFiles.map((path) => ({ path: `deps/${index}/${path}`, from: null })),
  ]);
}

/**
 * Replaces the Dockerfile template's placeholders by values. Throws if a placeholder has no value or a value
 * no placeholder, which would be a bug of swarm.
 */
function fillTemplate(template: string, values: Readonly<Record<string, string>>): string {
  const missing = new Set(Object.keys(values));
  const filled = template.replace(/\{\{([^{}]*)\}\}/g, (_, name: string) => {
    const value = Object.hasOwn(values, name) ? values[name] : undefined;
    if (value === undefined) throw new Error(`the template has an unknown placeholder: ${name}`);
    if (!missing.delete(name)) throw new Error(`the template contains the placeholder ${name} twice`);
    return value;
  });
  if (missing.size > 0) throw new Error(`the template lacks placeholders: ${[...missing].join(", ")}`);
  return filled.replace(/\n{3,}/g, "\n\n");
}

/**
 * Renders the RUN instruction that installs the tools of all dependency layers. The root folder's tools come
 * last, so that their versions win if several layers install the same tool.
 */
function prepareInstruction(layers: readonly DependencyLayer[]): string {
  const lines = [...new Set([...layers].reverse().flatMap(({ prepare }) => prepare))];
  const usesApt = lines.some((line) => line.startsWith("apt-get "));
  return renderRunInstruction(
    joinShellLines([
      "set -eux",
      ...(usesApt ? ["export DEBIAN_FRONTEND=noninteractive", "apt-get update"] : []),
      ...lines,
      "install -d -o 1000 -g 1000 /workspace",
      ...(lines.length > 0 ? ["rm -rf /var/lib/apt/lists/* /root/.npm /root/.cache"] : []),
    ]),
  );
}

function environmentInstruction(layers: readonly DependencyLayer[]): string {
  const variables = layers.flatMap(({ environment }) => environment);
  return variables.map(([name, value]) => `ENV ${name}="${value}"`).join("\n");
}

/**
 * Renders the instructions that copy a dependency layer's manifests and install its packages. The manifests
 * are copied as one folder, so that untrusted file names never become part of the Dockerfile.
 */
function dependencyInstructions(layer: DependencyLayer, index: number): string[] {
  const { manager, folder, files, emptyFiles, install } = layer;
  if (!/^[A-Za-z0-9._@/ -]*$/.test(folder))
    throw new Error(`not a folder for a Dockerfile: ${JSON.stringify(folder)}`);
  const copy =
    files.length + emptyFiles.length > 0 ? [`COPY --chown=1000:1000 ["deps/${index}/", "/workspace/"]`] : [];
  const run =
    install.length > 0
      ? [
          renderRunInstruction(
            joinShellLines(["set -eu", "export HOME=/home/agent", `cd '/workspace/${folder}'`, ...install]),
          ),
        ]
      : [];
  return copy.length + run.length > 0 ? [`# ${manager}: ${folder || "the root"}`, ...copy, ...run] : [];
}
