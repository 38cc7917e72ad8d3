export type PackageManager =
  | "npm"
  | "pnpm"
  | "yarn"
  | "bun"
  | "uv"
  | "poetry"
  | "pip"
  | "cargo"
  | "go"
  | "bundler"
  | "maven";

/** What one package manager installs for one folder, from manifests and lockfiles alone. */
export interface DependencyLayer {
  readonly manager: PackageManager;
  /** "" is the root of the tree. */
  readonly folder: string;
  /** Tracked manifests and lockfiles that go in before the sources. */
  readonly files: readonly string[];
  /** Tracked sources that only have to be there, and go in empty. */
  readonly emptyFiles: readonly string[];
  /** Lines of shell as root that install the tool itself. */
  readonly prepare: readonly string[];
  /** What later layers and the agent need in their environment. */
  readonly environment: readonly (readonly [name: string, value: string])[];
  /** Lines of shell as the agent, in the folder. */
  readonly install: readonly string[];
}

/** A file, or all that a manifest asks for, that got no layer. */
export interface LeftOut {
  readonly path: string;
  readonly reason: string;
}

export interface LayerOptions {
  readonly ignoreScripts: boolean;
}

export interface Findings {
  readonly layers: readonly DependencyLayer[];
  readonly leftOut: readonly LeftOut[];
}

/** What a build says when a layer stays empty, because the base's tool cannot serve this project. */
export const leftOutMark = "AIMI-LEFT-OUT:";

export const mostLayers = 20;

/** A layer with nothing but what differs from an empty one. */
export function layer(
  parts: Pick<DependencyLayer, "manager" | "folder" | "files"> & Partial<DependencyLayer>,
): DependencyLayer {
  return { emptyFiles: [], prepare: [], environment: [], install: [], ...parts };
}

/** Debian's packages; the lists are fetched and removed around all of them. */
export function aptInstall(...packages: readonly string[]): string {
  return `apt-get install -y --no-install-recommends ${packages.join(" ")}`;
}
