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

/** The packages that one package manager installs for one folder, from manifests and lockfiles alone. */
export interface DependencyLayer {
  readonly manager: PackageManager;
  /** "" is the root of the tree. */
  readonly folder: string;
  /** Tracked manifests and lockfiles, copied into the image before the sources. */
  readonly files: readonly string[];
  /** Tracked sources that only have to exist, copied into the image as empty files. */
  readonly emptyFiles: readonly string[];
  /** Shell lines, run as root, that install the package manager. */
  readonly prepare: readonly string[];
  /** Variables that later layers and the agent need. */
  readonly environment: readonly (readonly [name: string, value: string])[];
  /** Shell lines, run as the agent in the folder, that install the packages. */
  readonly install: readonly string[];
}

/** A file without a layer, or a manifest whose packages have none. */
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

/** Mark in a build's output when a layer stays empty because the base image's tool does not fit the project. */
export const leftOutMark = "AIMI-LEFT-OUT:";

export const maxLayers = 20;

/** A layer; parts that the caller leaves out are empty. */
export function layer(
  parts: Pick<DependencyLayer, "manager" | "folder" | "files"> & Partial<DependencyLayer>,
): DependencyLayer {
  return { emptyFiles: [], prepare: [], environment: [], install: [], ...parts };
}

/** Installs Debian packages. The Dockerfile fetches the package lists before all such lines and removes them after. */
export function aptInstall(...packages: readonly string[]): string {
  return `apt-get install -y --no-install-recommends ${packages.join(" ")}`;
}
