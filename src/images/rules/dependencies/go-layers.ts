import { joinPath, resolvePath } from "../../../text/tree-path.ts";
import { echoMarkedMessage } from "../dockerfile-text.ts";
import { emptyLayerMark, renderAptInstall } from "./dependency-layer.ts";
import type { FolderLayerVerdict, LayerDetector, ManifestTree } from "./manifest-tree.ts";

const prepare: readonly string[] = [renderAptInstall("golang-go", "ca-certificates")];

/** Finds the dependency layers of an image for Go workspaces, and for Go modules outside of workspaces. */
export const goLayers: LayerDetector = { manifests: ["go.work", "go.mod"], judge };

function judge(tree: ManifestTree, folder: string): FolderLayerVerdict {
  const work = joinPath(folder, "go.work");
  const members = usedFolders(tree.text(work), folder);
  const modules = [...new Set([folder, ...members])].filter((each) => tree.has(joinPath(each, "go.mod")));
  const covers = modules.filter((each) => each !== folder);
  const vendored = joinPath(folder, "vendor/modules.txt");
  const sums = modules.flatMap((each) => tree.present(each, "go.sum"));
  // With vendored modules, or without a go.sum, there is nothing to fetch. The agent still needs the compiler.
  if (tree.tracks(vendored) || sums.length === 0)
    return folder.includes("/") ? null : { layer: { manager: "go", files: [], prepare }, covers };

  const replaced: string[] = [];
  for (const each of modules) {
    const path = joinPath(each, "go.mod");
    for (const target of replacements(tree.text(path))) {
      const other = resolvePath(each, target);
      if (other === null || !tree.has(joinPath(other, "go.mod")))
        return {
          path,
          reason: `the file replaces a module with the folder ${target.slice(0, 100)}, in which git tracks no go.mod`,
        };
      replaced.push(joinPath(other, "go.mod"));
    }
  }

  const read = tree.has(work) ? "go work edit -json" : "go mod edit -json";
  return {
    layer: {
      manager: "go",
      files: [
        ...modules.map((each) => joinPath(each, "go.mod")),
        ...sums,
        ...replaced,
        ...(tree.has(work) ? tree.present(folder, "go.work", "go.work.sum") : []),
      ],
      prepare,
      install: [
        `if ${read} > /dev/null; then go mod download; else ${echoMarkedMessage(emptyLayerMark, "$(go version) is too old for this go.mod")}; fi`,
      ],
    },
    covers,
  };
}

function usedFolders(text: string, folder: string): string[] {
  return directives(text, "use").flatMap((argument) => resolvePath(folder, unquoted(argument)) ?? []);
}

function replacements(text: string): string[] {
  return directives(text, "replace")
    .flatMap((argument) => argument.split("=>")[1]?.trim().split(/\s/)[0] ?? [])
    .map(unquoted)
    .filter((target) => /^(?:\.{1,2}(?:\/|$)|\/)/.test(target));
}

/**
 * Returns the arguments of all directives with the given name in a `go.mod` or `go.work`, whether they are
 * on single lines or in blocks.
 */
function directives(text: string, name: string): string[] {
  const found: string[] = [];
  let isInside = false;
  for (const raw of text.split("\n")) {
    const line = raw.replace(/\/\/.*/, "").trim();
    if (isInside && line === ")") isInside = false;
    else if (isInside && line !== "") found.push(line);
    else if (line === `${name} (` || line === `${name}(`) isInside = true;
    else if (line.startsWith(`${name} `)) found.push(line.slice(name.length).trim());
  }
  return found;
}

function unquoted(text: string): string {
  return text.replace(/^["`]|["`]$/g, "");
}
