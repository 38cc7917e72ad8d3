import { joinPath, parentFolderOf, resolvePath } from "../../../text/tree-path.ts";
import { renderAptInstall } from "./dependency-layer.ts";
import type { FolderLayerVerdict, LayerDetector, ManifestTree } from "./manifest-tree.ts";

const prepare: readonly string[] = [renderAptInstall("maven", "default-jdk-headless")];

/**
 * Finds the dependency layers of an image for Maven projects. One layer covers a root `pom.xml` and all its
 * modules.
 */
export const mavenLayers: LayerDetector = { manifests: ["pom.xml"], judge };

function judge(tree: ManifestTree, folder: string): FolderLayerVerdict {
  const path = joinPath(folder, "pom.xml");
  const poms = new Set([path]);
  for (const pom of poms) {
    for (const name of elements(tree.text(pom), "module")) {
      const target = resolvePath(parentFolderOf(pom), name);
      const module = target?.endsWith(".xml") ? target : joinPath(target ?? "..", "pom.xml");
      if (!tree.has(module))
        return { path: pom, reason: `git does not track the module ${name.slice(0, 100)}` };
      poms.add(module);
    }
  }

  const own = new Set([...poms].map((pom) => ownName(tree.text(pom))));
  const tied = [...poms].find((pom) => dependencyNames(tree.text(pom)).some((name) => own.has(name)));
  if (tied)
    return {
      path: tied,
      reason: "the module depends on another module of this repository, which is not built yet",
    };

  const covers = [...poms].map(parentFolderOf).filter((each) => each !== folder);
  for (const pom of poms) for (const parent of parentsOf(tree, pom)) poms.add(parent);
  const settings = [".mvn/maven.config", ".mvn/extensions.xml", ".mvn/jvm.config"];
  return {
    layer: {
      manager: "maven",
      files: [...poms, ...tree.present(folder, ...settings)],
      prepare,
      install: ["mvn -B dependency:go-offline"],
    },
    covers,
  };
}

/**
 * Returns the paths at which the commit contains the parent POM of the given POM. swarm must look for it,
 * because the parent's list of modules may lack the given POM.
 */
function parentsOf(tree: ManifestTree, pom: string): string[] {
  const [parent] = elements(tree.text(pom), "parent");
  if (parent === undefined) return [];
  const target = resolvePath(parentFolderOf(pom), elements(parent, "relativePath")[0] ?? "../pom.xml");
  if (target === null) return [];
  return [target, joinPath(target, "pom.xml")].filter(tree.has);
}

/**
 * Returns the content of each XML element with the given name, except in XML comments. It is no full parser,
 * but it is sufficient for POMs.
 */
function elements(xml: string, name: string): string[] {
  return withoutComments(xml)
    .split(`<${name}>`)
    .slice(1)
    .map((rest) => (rest.split(`</${name}>`, 1)[0] ?? "").trim());
}

function withoutComments(xml: string): string {
  return xml
    .split("<!--")
    .map((part, index) => (index === 0 ? part : (part.split("-->", 2)[1] ?? "")))
    .join("");
}

function ownName(xml: string): string | undefined {
  const withoutParent = withoutComments(xml).split("</parent>").at(-1) ?? "";
  return elements(
    withoutParent.split(/<(?:dependencies|dependencyManagement|build|profiles)>/, 1)[0] ?? "",
    "artifactId",
  )[0];
}

function dependencyNames(xml: string): string[] {
  return elements(xml, "dependency").flatMap((dependency) => elements(dependency, "artifactId")[0] ?? []);
}
