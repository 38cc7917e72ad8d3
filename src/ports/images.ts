/** The facts about an image that the engine has. */
export interface ImageFacts {
  readonly id: string;
  readonly tags: readonly string[];
  readonly labels: Readonly<Record<string, string>>;
  readonly createdAt: Date;
  readonly sizeBytes: number;
}

export interface ImageBuildSpec {
  /** A tar stream with the `Dockerfile` and all files that it copies. */
  readonly context: AsyncIterable<Uint8Array>;
  readonly tags: readonly string[];
  readonly labels: Readonly<Record<string, string>>;
  readonly args: Readonly<Record<string, string>>;
  readonly builder: "buildkit" | "classic";
  /** Whether the build steps may use the network. */
  readonly network: boolean;
  /** Whether the build ignores the engine's cache of earlier builds. */
  readonly fresh: boolean;
}

/** An event that the engine reports while it builds an image. */
export type ImageBuildEvent =
  | { readonly kind: "started"; readonly step: string }
  | { readonly kind: "done"; readonly step: string; readonly ms: number; readonly cached: boolean }
  | { readonly kind: "output"; readonly text: string };

/** The images of an engine. */
export interface Images {
  /** Finds an image by reference or ID; null if the engine has none. */
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
   * still uses the image; otherwise true, even if the image did not exist.
   */
  remove(reference: string, signal?: AbortSignal): Promise<boolean>;
}
