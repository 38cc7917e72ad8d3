import { joinPath } from "../../../text/tree-path.ts";
import type { DependencyLayer, DependencyLayerOptions } from "./dependency-layer.ts";
import { parseTomlSections, readTomlString, readTomlWorkspace } from "./manifest-text.ts";
import {
  type FolderLayerVerdict,
  findWorkspaceMembers,
  type LayerDetector,
  type ManifestTree,
  relativeTo,
} from "./manifest-tree.ts";
import { findRequirementsFiles } from "./requirements.ts";

const ownVersions = { uv: "0.9.5", poetry: "2.2.1" };

const environmentFolder = "/opt/venvs";

/**
 * Finds the dependency layers of an image for Python projects. Each layer has its own virtual environment
 * outside the repository, to keep the working tree clean. The first layer's virtual environment is on the
 * `PATH`.
 */
export const pythonLayers: LayerDetector = {
  manifests: ["pyproject.toml", "requirements.txt"],
  judge,

  complete({ layers, leftOut }) {
    const uvs = layers.filter(({ manager }) => manager === "uv");
    return {
      layers: layers.map((each, index) => inEnvironment(each, index, uvs.length === 1 && each === uvs[0])),
      leftOut,
    };
  },
};

/**
 * The placeholder in shell lines for the path of a layer's virtual environment. The path depends on the
 * layer's number, which is known only later.
 */
const venv = "{venv}";

function inEnvironment(each: DependencyLayer, index: number, isOnlyUv: boolean): DependencyLayer {
  const path = `${environmentFolder}/${index === 0 ? "main" : index + 1}`;
  const isForAll: [string, string][] = isOnlyUv && index === 0 ? [["UV_PROJECT_ENVIRONMENT", path]] : [];
  return {
    ...each,
    // The agent owns the parent folder: a tool that makes an environment anew removes and creates its folder.
    prepare: [...each.prepare, `install -d -o 1000 -g 1000 ${environmentFolder}`],
    install: each.install.map((line) => line.replaceAll(venv, path)),
    environment: index === 0 ? [["VIRTUAL_ENV", path], ["PATH", `${path}/bin:$PATH`], ...isForAll] : [],
  };
}

function judge(tree: ManifestTree, folder: string, options: DependencyLayerOptions): FolderLayerVerdict {
  const has = (name: string): boolean => tree.has(joinPath(folder, name));
  if (has("pyproject.toml") && has("uv.lock")) return judgeUv(tree, folder, options);
  if (has("pyproject.toml") && has("poetry.lock")) return judgePoetry(tree, folder, options);
  if (has("requirements.txt") && (folder === "" || !isProject(tree, "")))
    return judgePip(tree, folder, options);
  return folder === "" && isProject(tree, folder)
    ? {
        path: "pyproject.toml",
        reason: "the folder of this file has no uv.lock, poetry.lock or requirements.txt",
      }
    : null;
}

/**
 * Returns whether a folder is a Python project. If the root folder is one, requirements files in subfolders
 * get no layer, because they are usually for the documentation.
 */
function isProject(tree: ManifestTree, folder: string): boolean {
  const sections = parseTomlSections(tree.text(joinPath(folder, "pyproject.toml")));
  return (
    tree.has(joinPath(folder, "requirements.txt")) ||
    sections.some(({ name }) => name === "project" || name === "tool.poetry")
  );
}

function judgeUv(
  tree: ManifestTree,
  folder: string,
  { ignoreScripts }: DependencyLayerOptions,
): FolderLayerVerdict {
  const path = joinPath(folder, "pyproject.toml");
  const sections = parseTomlSections(tree.text(path));
  const workspace = "tool.uv.workspace";
  const patterns = readTomlWorkspace(sections, workspace);
  const members = findWorkspaceMembers(tree, folder, "pyproject.toml", patterns);
  const manifests = [path, ...members.map((member) => joinPath(member, "pyproject.toml"))];
  const local = manifests.find((each) => findLocalSource(tree.text(each), /^tool\.uv\.sources/));
  if (local)
    return {
      path: local,
      reason: "the file names a local source folder, which the image does not contain yet",
    };

  const tool = sections.find(({ name }) => name === "tool.uv")?.body ?? "";
  const [, required] = /^==\s*(\d+\.\d+\.\d+)$/.exec(readTomlString(tool, "required-version") ?? "") ?? [];
  const flags = [
    sections.some(({ name }) => name === workspace)
      ? "--all-packages --no-install-workspace"
      : "--no-install-project",
    ignoreScripts ? "--no-build" : "",
  ];
  return {
    layer: {
      manager: "uv",
      files: [...manifests, ...tree.present(folder, "uv.lock", "uv.toml", ".python-version")],
      prepare: toolOfItsOwn("uv", required ?? ownVersions.uv),
      install: [`UV_PROJECT_ENVIRONMENT=${venv} uv sync --frozen ${flags.filter(Boolean).join(" ")}`],
    },
    covers: members,
  };
}

function judgePoetry(
  tree: ManifestTree,
  folder: string,
  { ignoreScripts }: DependencyLayerOptions,
): FolderLayerVerdict {
  const path = joinPath(folder, "pyproject.toml");
  const lock = joinPath(folder, "poetry.lock");
  if (findLocalSource(tree.text(path), /^tool\.poetry\..*dependencies/))
    return {
      path,
      reason: "the file has a dependency in a local folder, which the image does not contain yet",
    };

  const [, made] = /^# .*generated by Poetry (\d+\.\d+\.\d+)/.exec(tree.text(lock)) ?? [];
  const onlyBinary = ignoreScripts ? "POETRY_INSTALLER_ONLY_BINARY=:all: " : "";
  return {
    layer: {
      manager: "poetry",
      files: [path, lock],
      prepare: toolOfItsOwn("poetry", made ?? ownVersions.poetry),
      install: [
        `python3 -m venv ${venv}`,
        `${onlyBinary}VIRTUAL_ENV=${venv} poetry install --no-root --no-interaction`,
      ],
    },
  };
}

function judgePip(
  tree: ManifestTree,
  folder: string,
  { ignoreScripts }: DependencyLayerOptions,
): FolderLayerVerdict {
  const starts = tree.present(folder, "requirements.txt", "requirements-dev.txt", "dev-requirements.txt");
  const read = findRequirementsFiles(tree, starts);
  if ("reason" in read) return read;

  const wanted = starts.map((path) => `-r ${relativeTo(folder, path)}`);
  return {
    layer: {
      manager: "pip",
      files: read.files,
      install: [
        `python3 -m venv ${venv}`,
        `${venv}/bin/pip install --no-cache-dir ${ignoreScripts ? "--only-binary :all: " : ""}${wanted.join(" ")}`,
      ],
    },
  };
}

function findLocalSource(text: string, sections: RegExp): boolean {
  if (/@\s*file:/.test(text)) return true;
  return parseTomlSections(text).some(
    ({ name, body }) =>
      sections.test(name) && (/[{,]\s*path\s*=/.test(body) || readTomlString(body, "path") !== undefined),
  );
}

/**
 * Returns shell lines that install a tool, such as uv, into its own virtual environment. Debian does not let
 * pip install packages next to Debian's own.
 */
function toolOfItsOwn(name: "uv" | "poetry", version: string): string[] {
  const folder = `/opt/tools/${name}`;
  return [
    `python3 -m venv ${folder}`,
    `${folder}/bin/pip install --no-cache-dir ${name}==${version}`,
    `ln -sf ${folder}/bin/${name} /usr/local/bin/${name}`,
  ];
}
