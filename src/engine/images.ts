/** The properties of an image in the engine. */
export interface ImageFacts {
  readonly id: string;
  readonly tags: readonly string[];
  readonly labels: Readonly<Record<string, string>>;
  readonly createdAt: Date;
  readonly sizeBytes: number;
}

export interface ImageBuildSpec {
  /** The Docker build context: a tar stream with the `Dockerfile` and all files that it copies. */
  readonly context: AsyncIterable<Uint8Array>;
  readonly tags: readonly string[];
  readonly labels: Readonly<Record<string, string>>;
  readonly args: Readonly<Record<string, string>>;
  readonly builder: "buildkit" | "classic";
  /** Whether the build steps may use the network. */
  readonly network: boolean;
  /** Whether the build ignores the engine's build cache. */
  readonly fresh: boolean;
}

/** An event that the engine reports while it builds an image. */
export type ImageBuildEvent =
  | { readonly kind: "started"; readonly step: string }
  | { readonly kind: "done"; readonly step: string; readonly ms: number; readonly cached: boolean }
  | { readonly kind: "output"; readonly text: string };

/** Manages the images of an engine. */
export interface Images {
  /** Returns an image by reference or ID; null if the engine does not have the image. */
  find(reference: string, signal?: AbortSignal): Promise<ImageFacts | null>;
  list(labels: Readonly<Record<string, string>>, signal?: AbortSignal): Promise<ImageFacts[]>;
  /** Imports a tar stream of a root file system as an image; returns the image's ID. */
  import(
    archive: AsyncIterable<Uint8Array>,
    options: { readonly tag: string; readonly labels: Readonly<Record<string, string>> },
    signal?: AbortSignal,
  ): Promise<string>;
  /** Builds an image and returns its ID. Throws IMAGE_BUILD_FAILED, which names the failed step. */
  build(
    spec: ImageBuildSpec,
    onEvent: (event: ImageBuildEvent) => void,
    signal?: AbortSignal,
  ): Promise<string>;
  pull(reference: string, signal?: AbortSignal): Promise<void>;
  tag(reference: string, tag: string, signal?: AbortSignal): Promise<void>;
  /**
   * Removes an image, or only the tag if `reference` is one of several tags. Returns false if a container
   * uses the image, and true if the image is removed or did not exist.
   */
  remove(reference: string, signal?: AbortSignal): Promise<boolean>;
}
