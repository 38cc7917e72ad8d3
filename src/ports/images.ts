/** An existing image. */
export interface ImageFacts {
  readonly id: string;
  readonly tags: readonly string[];
  readonly labels: Readonly<Record<string, string>>;
  readonly createdAt: Date;
  readonly sizeBytes: number;
}

export interface BuildSpec {
  /** A tar with the file `Dockerfile` and all files that it copies. */
  readonly context: AsyncIterable<Uint8Array>;
  readonly tags: readonly string[];
  readonly labels: Readonly<Record<string, string>>;
  readonly args: Readonly<Record<string, string>>;
  readonly builder: "buildkit" | "classic";
  /** Whether the steps may reach the network. */
  readonly network: boolean;
  /** Whether the build ignores the cache of earlier builds. */
  readonly fresh: boolean;
}

/** An event of a running build. */
export type BuildEvent =
  | { readonly kind: "started"; readonly step: string }
  | { readonly kind: "done"; readonly step: string; readonly ms: number; readonly cached: boolean }
  | { readonly kind: "output"; readonly text: string };

/** The images of an engine. */
export interface Images {
  /** Finds an image by reference or id; null if there is none. */
  find(reference: string, signal?: AbortSignal): Promise<ImageFacts | null>;
  list(labels: Readonly<Record<string, string>>, signal?: AbortSignal): Promise<ImageFacts[]>;
  /** Imports a root filesystem as an image; returns its id. */
  import(
    archive: AsyncIterable<Uint8Array>,
    options: { readonly tag: string; readonly labels: Readonly<Record<string, string>> },
    signal?: AbortSignal,
  ): Promise<string>;
  /** Builds an image and returns its id; throws IMAGE_BUILD_FAILED with the step that failed. */
  build(spec: BuildSpec, onEvent: (event: BuildEvent) => void, signal?: AbortSignal): Promise<string>;
  pull(reference: string, signal?: AbortSignal): Promise<void>;
  tag(reference: string, tag: string, signal?: AbortSignal): Promise<void>;
  /** Removes an image; false if a container still uses it, true if there is none. */
  remove(reference: string, signal?: AbortSignal): Promise<boolean>;
}
