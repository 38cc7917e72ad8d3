import { join } from "node:path";
import type { ProjectRef } from "../contract/swarm-state.ts";
import type { Engines } from "../engine/engines.ts";
import type { CommitReader } from "../git/commit-reader-port.ts";
import { findRepository } from "../git/find-repository.ts";
import type { Host } from "../machine/host.ts";
import { adapterFile, imagesFolder } from "../machine/package-files.ts";
import type { EnsureImageDeps } from "./ensure-base-image.ts";
import { type ImageOperations, imageOperations } from "./image-operations.ts";
import { imageSources } from "./image-sources.ts";

export interface ImagesDeps {
  readonly host: Pick<Host, "folder" | "env" | "folders" | "locks">;
  readonly engines: Pick<Engines, "first">;
  readonly git: { commits(): Promise<CommitReader> };
  identity(): Promise<ProjectRef>;
}

/** Opens the images of the first engine that answers. Outside a repository, there are no project images. */
export async function openImages({ host, engines, git, identity }: ImagesDeps): Promise<ImageOperations> {
  return imageOperations({
    ...imageBuildDeps(host),
    engine: await engines.first(),
    async project() {
      if (!(await findRepository(host.folder))) return null;
      const { id, slug } = await identity();
      return { id, slug, commits: await git.commits() };
    },
  });
}

/** Returns what an image build needs on this machine: swarm's files, downloads, and the lock around builds. */
export function imageBuildDeps({
  env,
  folders,
  locks,
}: Pick<Host, "env" | "folders" | "locks">): Omit<EnsureImageDeps, "engine"> {
  const cacheFolder = join(folders.state, "downloads");
  return {
    sources: imageSources({ env, imagesFolder, adapterFile, cacheFolder }),
    lock: locks.at(join(folders.state, "image.lock")),
  };
}
