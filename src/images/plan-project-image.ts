import { SwarmError } from "../errors/errors.ts";
import type { CommitReader, TrackedFile } from "../git/commit-reader-port.ts";
import { type EnsuredImage, sha256 } from "./ensure-base-image.ts";
import type { ImageSources } from "./image-sources-port.ts";
import {
  type DependencyLayer,
  findDependencyLayers,
  manifestPaths,
} from "./rules/dependencies/dependency-layers.ts";
import { checksumOfInputs, type ImageInputs } from "./rules/image-inputs.ts";
import { renderProjectDockerfile } from "./rules/project-dockerfile.ts";
import { findSecretPathReason } from "./rules/secret-files.ts";
import { appendStagesToUserDockerfile } from "./rules/user-dockerfile.ts";
import type { BundleTransfer } from "./rules/workspace-layer.ts";

/** The git repository from which swarm builds a project's image. */
export interface ImageProject {
  readonly id: string;
  readonly slug: string;
  readonly commits: CommitReader;
}

export interface ProjectImageOptions {
  readonly ignoreScripts: boolean;
  /** Whether the build steps that install dependencies may use the network. */
  readonly buildNetwork: boolean;
}

/** The commit for which swarm plans an image, and what else decides the image. */
export interface ProjectImageRequest {
  readonly commit: string;
  readonly base: EnsuredImage;
  readonly builder: BundleTransfer;
  readonly options: ProjectImageOptions;
}

/** The plan for building a project's image: the build inputs and the Dockerfile. */
export interface ProjectImagePlan {
  readonly commit: string;
  readonly repository: string;
  readonly checksum: string;
  readonly inputs: ImageInputs;
  readonly dockerfile: string;
  /**
   * The image layers with the project's dependencies. Null if the project has its own Dockerfile: then the
   * build context contains all tracked files.
   */
  readonly layers: readonly DependencyLayer[] | null;
  readonly files: readonly TrackedFile[];
  readonly warnings: readonly string[];
}

const ownDockerfile = ".aimi/Dockerfile.sandbox";
const placeholder = "aimi-sandbox:base";
const templateFile = "project.Dockerfile.template";
const maxManifestBytes = 1024 * 1024;

/**
 * Returns a key by which swarm quickly finds an existing project image. The key is a hash of the commit, the
 * base image, the build options and the version of swarm.
 */
export async function computeImageLookupKey(
  { sources }: { readonly sources: Pick<ImageSources, "readImageFile"> },
  {
    commit,
    base,
    options,
  }: Pick<ProjectImageRequest, "commit" | "options"> & { readonly base: Pick<EnsuredImage, "id"> },
): Promise<string> {
  // The template and the version are parts of the key, because another version of swarm may plan another
  // image.
  const files = await Promise.all([templateFile, "../package.json"].map(sources.readImageFile));
  return sha256(JSON.stringify([base.id, commit, files.map(sha256), options])).slice(0, 32);
}

/**
 * Plans the project's image for a commit. Reads the commit's files from git's objects, not from the working
 * tree.
 */
export async function planProjectImage(
  { project, sources }: { readonly project: ImageProject; readonly sources: ImageSources },
  request: ProjectImageRequest,
): Promise<ProjectImagePlan> {
  const { commit, base, builder, options } = request;
  const { commits, slug } = project;
  if (await commits.isShallow())
    throw new SwarmError("GIT_FAILED", {
      command: "bundle",
      reason:
        "the repository is a shallow clone with an incomplete history; `git fetch --unshallow` fetches the rest",
    });
  const files = await commits.files(commit);
  const own = files.find((file) => file.path === ownDockerfile && isRegularTrackedFile(file));
  const recipe = own
    ? await ownRecipe(commits, own, builder)
    : await generatedRecipe(commits, sources, files, request);
  const reference = `aimi-sandbox:base-${base.checksum}`;
  const inputs: ImageInputs = {
    ...recipe.inputs,
    Dockerfile: sha256(recipe.render(placeholder)),
    base: base.id,
    commit,
    // The project's id is an input. Otherwise two copies of a project at the same commit would have the same
    // checksum, and would move each other's tag.
    project: project.id,
    "argument ignore-scripts": String(options.ignoreScripts),
    "argument build-network": String(options.buildNetwork),
  };
  return {
    commit,
    inputs,
    files,
    layers: recipe.layers,
    repository: `aimi-sandbox-${slug}`,
    checksum: checksumOfInputs(inputs, sha256),
    dockerfile: recipe.render(reference),
    warnings: [...recipe.warnings, ...treeWarnings(files)],
  };
}

interface Recipe {
  readonly layers: readonly DependencyLayer[] | null;
  readonly inputs: ImageInputs;
  readonly warnings: readonly string[];
  readonly render: (base: string) => string;
}

async function ownRecipe(
  commits: CommitReader,
  { id }: TrackedFile,
  transfer: BundleTransfer,
): Promise<Recipe> {
  const [bytes = new Uint8Array()] = await commits.contents([id]);
  const text = Buffer.from(bytes).toString();
  return {
    layers: null,
    inputs: { [`file ${ownDockerfile}`]: id },
    warnings: [],
    render: (base) => appendStagesToUserDockerfile({ text, file: ownDockerfile, base, transfer }),
  };
}

async function generatedRecipe(
  commits: CommitReader,
  sources: ImageSources,
  files: readonly TrackedFile[],
  { builder, options }: ProjectImageRequest,
): Promise<Recipe> {
  const plain = files.filter(isRegularTrackedFile);
  const idByPath = new Map(plain.map(({ path, id }) => [path, id]));
  const paths = [...idByPath.keys()];
  const wanted = manifestPaths(paths);
  const texts = await commits.contents(wanted.map((path) => idByPath.get(path) ?? ""));
  const textByPath = new Map(
    wanted.flatMap((path, index): [string, string][] => {
      const bytes = texts[index];
      return bytes && bytes.length <= maxManifestBytes ? [[path, Buffer.from(bytes).toString()]] : [];
    }),
  );
  const { layers, leftOut } = findDependencyLayers(
    { paths, readText: (path) => textByPath.get(path) },
    options,
  );
  const template = Buffer.from(await sources.readImageFile(templateFile)).toString();
  const used = layers.flatMap((layer) => layer.files);
  return {
    layers,
    inputs: {
      ...Object.fromEntries(used.map((path) => [`file ${path}`, idByPath.get(path) ?? ""])),
      template: sha256(template),
    },
    warnings: leftOut.map(({ path, reason }) => `${path || "."}: ${reason}`),
    render: (base) => renderProjectDockerfile({ template, base, layers, transfer: builder }),
  };
}

/**
 * Returns warnings about tracked files that look like secrets, which the image will contain, and about
 * submodules, whose files the image will not contain.
 */
function treeWarnings(files: readonly TrackedFile[]): string[] {
  const secrets = files.flatMap(({ path }) => {
    const reason = findSecretPathReason(path);
    return reason ? [`the tracked file ${path} looks like ${reason}, and the image will contain it`] : [];
  });
  const submodules = files.filter(({ kind }) => kind === "submodule");
  const linked = files.some((file) => file.path === ownDockerfile && !isRegularTrackedFile(file));
  return [
    ...(linked ? [`${ownDockerfile} is not a regular file, so swarm does not use it`] : []),
    ...secrets.slice(0, 20),
    ...(secrets.length > 20 ? [`${secrets.length - 20} more tracked files look like secrets`] : []),
    ...submodules.map(({ path }) => `${path} is a submodule; the image will not contain its files`),
  ];
}

/** Returns whether a tracked file is a regular file, that is, neither a symbolic link nor a submodule. */
export function isRegularTrackedFile({ kind }: TrackedFile): boolean {
  return kind === "file" || kind === "program";
}
