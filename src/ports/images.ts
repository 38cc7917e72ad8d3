/** An image that is there. */
export interface ImageFacts {
  readonly id: string;
  readonly tags: readonly string[];
  readonly labels: Readonly<Record<string, string>>;
  readonly createdAt: Date;
  readonly sizeBytes: number;
}

export interface BuildSpec {
  /** A tar with the Dockerfile, called `Dockerfile`, and all that it copies. */
  readonly context: AsyncIterable<Uint8Array>;
  readonly tags: readonly string[];
  readonly labels: Readonly<Record<string, string>>;
  readonly args: Readonly<Record<string, string>>;
  readonly builder: "buildkit" | "classic";
  /** Whether the steps may reach the network. */
  readonly network: boolean;
  /** Whether every step is carried out anew, whatever is kept of earlier builds. */
  readonly fresh: boolean;
}

/** Something a build tells while it goes on. */
export type BuildEvent =
  | { readonly kind: "started"; readonly step: string }
  | { readonly kind: "done"; readonly step: string; readonly ms: number; readonly cached: boolean }
  | { readonly kind: "output"; readonly text: string };

/** The images of an engine. */
export interface Images {
  /** By reference or id; null when it is not there. */
  find(reference: string, signal?: AbortSignal): Promise<ImageFacts | null>;
  list(labels: Readonly<Record<string, string>>, signal?: AbortSignal): Promise<ImageFacts[]>;
  /** A root filesystem as an image; its id. */
  import(
    archive: AsyncIterable<Uint8Array>,
    options: { readonly tag: string; readonly labels: Readonly<Record<string, string>> },
    signal?: AbortSignal,
  ): Promise<string>;
  /** The id of what was built; IMAGE_BUILD_FAILED with the step that failed. */
  build(spec: BuildSpec, onEvent: (event: BuildEvent) => void, signal?: AbortSignal): Promise<string>;
  pull(reference: string, signal?: AbortSignal): Promise<void>;
  tag(reference: string, tag: string, signal?: AbortSignal): Promise<void>;
  /** False when a container still needs it; what is gone already is fine. */
  remove(reference: string, signal?: AbortSignal): Promise<boolean>;
}
