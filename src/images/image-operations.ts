import { labels } from "../engine/engine.ts";
import type { ImageFacts, Images } from "../engine/images.ts";
import { baseImage, rootFilesystemImage } from "../engine/rules/base-image.ts";
import { type EnsuredProjectImage, ensureProjectImage } from "./build-project-image.ts";
import {
  agentNamesInImage,
  type BaseImageBuildOptions,
  baseImageInputs,
  type EnsuredImage,
  type EnsureImageDeps,
  ensureBaseImage,
  type ImageBuildCallbacks,
} from "./ensure-base-image.ts";
import { type ImageProject, type ProjectImageOptions, planProjectImage } from "./plan-project-image.ts";
import {
  findInputChanges,
  type ImageInputChange,
  type ImageInputs,
  parseInputsLabel,
} from "./rules/image-inputs.ts";
import { type PrunableImage, planImagePrune } from "./rules/prune-images.ts";

export interface ImageBuildRequest extends BaseImageBuildOptions, ProjectImageOptions {
  /** Whether to build only swarm's base image, and no project image. */
  readonly baseOnly: boolean;
}

export interface BuiltImages {
  readonly base: EnsuredImage;
  readonly project: EnsuredProjectImage | null;
}

export interface ListedImage extends PrunableImage {
  readonly sizeBytes: number;
  readonly commit: string | null;
}

export interface ExplainedImage {
  readonly image: string;
  readonly state: "up to date" | "would be built";
  readonly inputs: ImageInputs;
  /**
   * The build inputs that have changed since the newest image was built; empty if an existing image is up to
   * date.
   */
  readonly changes: readonly ImageInputChange[];
  readonly warnings: readonly string[];
}

/** Implements the subcommands of `swarm image`. */
export interface ImageOperations {
  build(request: ImageBuildRequest, report: ImageBuildCallbacks, signal: AbortSignal): Promise<BuiltImages>;
  list(signal: AbortSignal): Promise<ListedImage[]>;
  /**
   * Removes images that swarm does not need any more, and returns the removed images. With `dryRun`, returns
   * the images to remove, but removes none. With `own`, removes all images of this project. Never removes an
   * image that a container uses.
   */
  prune(
    words: { readonly all: boolean; readonly own?: boolean; readonly dryRun: boolean },
    signal: AbortSignal,
  ): Promise<ListedImage[]>;
  explain(
    words: Pick<ImageBuildRequest, "agents" | keyof ProjectImageOptions>,
    signal: AbortSignal,
  ): Promise<ExplainedImage[]>;
}

export interface ImageOperationsDeps extends EnsureImageDeps {
  /**
   * Returns the current repository, from which swarm builds the project image; null outside of a repository.
   */
  readonly project: () => Promise<ImageProject | null>;
}

export function imageOperations(deps: ImageOperationsDeps): ImageOperations {
  const { engine } = deps;

  const list = async (signal: AbortSignal): Promise<ListedImage[]> => {
    const { images } = await engine.open();
    return (await images.list({ [labels.sandbox]: "true" }, signal)).map(listedImage).sort(byAge);
  };

  return {
    list,

    async build(words, report, signal) {
      const base = await ensureBaseImage(deps, words, report, signal);
      const project = words.baseOnly ? null : await deps.project();
      if (!project) return { base, project: null };
      const options = { ignoreScripts: words.ignoreScripts, buildNetwork: words.buildNetwork };
      const request = { base, options, fresh: words.fresh };
      return { base, project: await ensureProjectImage({ ...deps, project }, request, report, signal) };
    },

    async prune({ dryRun, ...words }, signal) {
      const project = (await deps.project())?.id ?? null;
      const current = [baseImage, rootFilesystemImage];
      const unneeded = planImagePrune(await list(signal), { ...words, project, current });
      if (dryRun) return unneeded;
      const { images } = await engine.open();
      const removed: ListedImage[] = [];
      for (const image of unneeded) if (await isRemoved(images, image, signal)) removed.push(image);
      return removed;
    },

    async explain(words, signal) {
      const { images } = await engine.open();
      const base = await images.find(baseImage, signal);
      const wanted = await baseImageInputs(deps, { agents: words.agents ?? agentNamesInImage(base) }, signal);
      const had = parseInputsLabel(base?.labels[labels.inputs]);
      const inputs = { ...wanted, root: had?.["root"] ?? "to be made" };
      const explained = [explain(baseImage, had, inputs, [])];
      const project = await deps.project();
      const commit = (await project?.commits.head()) ?? null;
      if (!project || commit === null) return explained;
      const { builder } = await engine.info(signal);
      const options = { ignoreScripts: words.ignoreScripts, buildNetwork: words.buildNetwork };
      const isBaseCurrent = explained[0]?.state === "up to date";
      const plan = await planProjectImage(
        { ...deps, project },
        {
          commit,
          builder,
          options,
          base: {
            id: isBaseCurrent && base ? base.id : "to be built",
            tag: baseImage,
            checksum: base?.labels[labels.checksum] ?? "to-be-built",
            built: false,
          },
        },
      );
      const wantedLabels = { [labels.project]: project.id, [labels.role]: "project-image" };
      const ours = (await images.list(wantedLabels, signal))
        .filter(({ tags }) => tags.some((tag) => tag.startsWith("aimi-sandbox-")))
        .sort(byAge);
      const same = ours.find((image) => image.labels[labels.checksum] === plan.checksum) ?? ours[0];
      const before = parseInputsLabel(same?.labels[labels.inputs]);
      return [...explained, explain(plan.repository, before, plan.inputs, plan.warnings)];
    },
  };
}

/**
 * Removes all tags of an image, which removes the image. If a container uses the image, restores the tags, by
 * which swarm finds images, and returns false.
 */
async function isRemoved(
  images: Images,
  { id, tags }: Pick<ListedImage, "id" | "tags">,
  signal: AbortSignal,
): Promise<boolean> {
  const removed: string[] = [];
  for (const name of tags.length > 0 ? tags : [id]) {
    if (!(await images.remove(name, signal))) {
      for (const tag of removed) await images.tag(id, tag);
      return false;
    }
    removed.push(name);
  }
  return true;
}

function explain(
  image: string,
  had: ImageInputs | null,
  inputs: ImageInputs,
  warnings: readonly string[],
): ExplainedImage {
  const changes = findInputChanges(had ?? {}, inputs);
  return {
    image,
    state: had && changes.length === 0 ? "up to date" : "would be built",
    inputs,
    changes,
    warnings,
  };
}

function listedImage({ id, tags, labels: found, createdAt, sizeBytes }: ImageFacts): ListedImage {
  return {
    id,
    tags,
    createdAt,
    sizeBytes,
    role: found[labels.role] ?? "",
    project: found[labels.project] ?? null,
    commit: parseInputsLabel(found[labels.inputs])?.["commit"] ?? null,
  };
}

function byAge(a: Pick<ImageFacts, "createdAt">, b: Pick<ImageFacts, "createdAt">): number {
  return b.createdAt.getTime() - a.createdAt.getTime();
}
