import { type EntryToPack, packFiles } from "../archive/pack-files.ts";
import { type ContainerEngine, labels } from "../engine/engine.ts";
import { isError, SwarmError } from "../errors/errors.ts";
import type { CommitReader, TrackedFile } from "../git/commit-reader-port.ts";
import type {
  BaseImageBuildOptions,
  EnsuredImage,
  EnsureImageDeps,
  ImageBuildCallbacks,
} from "./ensure-base-image.ts";
import {
  computeImageLookupKey,
  type ImageProject,
  isRegularTrackedFile,
  type ProjectImagePlan,
  type ProjectImageRequest,
  planProjectImage,
} from "./plan-project-image.ts";
import { formatInputsLabel } from "./rules/image-inputs.ts";
import { dependencyBuildContext } from "./rules/project-dockerfile.ts";
import { unsuitableImageMark } from "./rules/user-dockerfile.ts";
import { commitBuildArgument, workspaceBundleFileName } from "./rules/workspace-layer.ts";

export interface EnsuredProjectImage extends EnsuredImage {
  readonly warnings: readonly string[];
}

const buildWaitMs = 30 * 60_000;

/**
 * Returns the project's image for the HEAD commit: an existing image that was built from the same inputs,
 * else a newly built one.
 */
export async function ensureProjectImage(
  deps: EnsureImageDeps & { readonly project: ImageProject },
  {
    base,
    options,
    fresh,
  }: Pick<ProjectImageRequest, "base" | "options"> & Pick<BaseImageBuildOptions, "fresh">,
  report: ImageBuildCallbacks,
  signal?: AbortSignal,
): Promise<EnsuredProjectImage> {
  const { engine, project } = deps;
  const list = async (): Promise<ProjectImages> => (fresh ? [] : listProjectImages(engine, project, signal));
  const [commit, present] = await Promise.all([project.commits.head(), list()]);
  if (commit === null)
    throw new SwarmError("GIT_FAILED", {
      command: "rev-parse HEAD",
      reason: "the repository has no commit yet",
    });
  const quickKey = await computeImageLookupKey(deps, { commit, base, options });
  const known = present.find((image) => image.quickKey === quickKey);
  if (known) return { ...known.image, warnings: [] };

  const { builder } = await engine.info(signal);
  const plan = await planProjectImage(deps, { commit, base, builder, options });
  const isSame = ({ image }: ProjectImages[number]): boolean => image.checksum === plan.checksum;
  const same = present.find(isSame);
  if (same) return { ...same.image, warnings: plan.warnings };
  await using _held = await deps.lock.acquire(buildWaitMs, signal);
  // Another process may have built the image while this process waited for the lock.
  const meanwhile = (await list()).find(isSame);
  if (meanwhile) return { ...meanwhile.image, warnings: plan.warnings };

  const tag = `${plan.repository}:${plan.checksum}`;
  report.onStep(`Building ${tag}`);
  const { images } = await engine.open();
  await using bundle = await project.commits.bundle(commit, "workspace", signal);
  try {
    const id = await images.build(
      {
        context: packFiles(contextOf(project, plan, bundle.file)),
        tags: [tag],
        labels: {
          [labels.sandbox]: "true",
          [labels.role]: "project-image",
          [labels.project]: project.id,
          [labels.checksum]: plan.checksum,
          [labels.quickKey]: quickKey,
          [labels.inputs]: formatInputsLabel(plan.inputs),
        },
        args: { [commitBuildArgument]: commit },
        builder,
        network: options.buildNetwork,
        fresh,
      },
      report.onEvent,
      signal,
    );
    return { id, tag, checksum: plan.checksum, built: true, warnings: plan.warnings };
  } catch (error) {
    throw unsuitable(error, tag);
  }
}

type ProjectImages = readonly { readonly image: EnsuredImage; readonly quickKey: string | undefined }[];

/**
 * Lists the engine's images of this project. Selects by the project's ID, because two projects may have the
 * same name.
 */
async function listProjectImages(
  engine: ContainerEngine,
  { id: project }: ImageProject,
  signal?: AbortSignal,
): Promise<ProjectImages> {
  const { images } = await engine.open();
  const marks = { [labels.role]: "project-image", [labels.project]: project };
  return (await images.list(marks, signal)).flatMap(({ id, tags, labels: found }) => {
    const checksum = found[labels.checksum] ?? "";
    // A user's image that is based on swarm's image inherits swarm's labels, but not its tag.
    const tag = tags.find((each) => each.startsWith("aimi-sandbox-") && each.endsWith(`:${checksum}`));
    return tag === undefined
      ? []
      : [{ image: { id, tag, checksum, built: false }, quickKey: found[labels.quickKey] }];
  });
}

async function* contextOf(
  { commits }: ImageProject,
  { dockerfile, layers, files }: ProjectImagePlan,
  bundle: string,
): AsyncGenerator<EntryToPack> {
  const plain = { uid: 0, gid: 0, mode: 0o644 };
  yield { ...plain, kind: "file", path: "Dockerfile", content: Buffer.from(dockerfile) };
  yield { ...plain, kind: "file", path: workspaceBundleFileName, from: bundle };
  const fileByPath = new Map(files.filter(isRegularTrackedFile).map((file) => [file.path, file]));
  const wanted = layers
    ? dependencyBuildContext(layers)
    : [...fileByPath.keys()]
        .filter((path) => path !== "Dockerfile" && path !== workspaceBundleFileName)
        .map((path) => ({ path, from: path }));
  const tracked: Copy[] = [];
  for (const { path, from } of wanted) {
    const file = fileByPath.get(from ?? "");
    if (file) tracked.push({ path, file });
    else yield { ...plain, kind: "file", path, content: new Uint8Array() };
  }
  for await (const { path, file, content } of withContents(commits, tracked))
    yield { ...plain, kind: "file", path, content, mode: file.kind === "program" ? 0o755 : 0o644 };
}

/** A tracked file to copy, with its path in the Docker build context. */
interface Copy {
  readonly path: string;
  readonly file: TrackedFile;
}

const maxBatchBytes = 4 * 1024 * 1024;
const maxBatchFiles = 256;

/**
 * Reads the contents of tracked files in batches, so that one git process serves many files, but memory never
 * holds all contents.
 */
async function* withContents(
  commits: CommitReader,
  copies: readonly Copy[],
): AsyncGenerator<Copy & { readonly content: Uint8Array }> {
  let count = 1;
  for (let at = 0; at < copies.length; ) {
    const some = copies.slice(at, at + count);
    const contents = await commits.contents(some.map(({ file }) => file.id));
    for (const [index, copy] of some.entries())
      yield { ...copy, content: contents[index] ?? new Uint8Array() };
    at += some.length;
    const bytes = contents.reduce((sum, { length }) => sum + length, 0);
    count = bytes > maxBatchBytes ? Math.max(1, Math.floor(count / 8)) : Math.min(maxBatchFiles, count * 2);
  }
}

/**
 * Turns an error of an image build into IMAGE_UNSUITABLE if the image lacks a program that a sandbox needs.
 * Returns other errors unchanged.
 */
function unsuitable(error: unknown, image: string): unknown {
  if (!isError(error, "IMAGE_BUILD_FAILED")) return error;
  const { reason, step } = error.details;
  const [, found] = new RegExp(`${unsuitableImageMark} (.*)`).exec(reason) ?? [];
  // If the image has no shell, the check for missing programs cannot run. Then the failed step still shows
  // the check's script.
  const absent = found?.split(/, */) ?? (/absent="";/.test(step) ? ["sh"] : null);
  return absent ? new SwarmError("IMAGE_UNSUITABLE", { image, absent }, error) : error;
}
