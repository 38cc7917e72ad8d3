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

/**
 * A layer of a project's image: the packages that one package manager installs for one folder, from manifests and
 * lockfiles alone.
 */
export interface DependencyLayer {
  readonly manager: PackageManager;
  /** The folder's path in the repository's tree; "" is the root. */
  readonly folder: string;
  /** Paths of tracked manifests and lockfiles. The build copies them into the image before the sources. */
  readonly files: readonly string[];
  /**
   * Paths of tracked sources that only have to exist. The build puts empty files at these paths into the image.
   */
  readonly emptyFiles: readonly string[];
  /** Shell lines that install the package manager. The build runs them as root. */
  readonly prepare: readonly string[];
  /** Environment variables that later layers and the agent need. */
  readonly environment: readonly (readonly [name: string, value: string])[];
  /** Shell lines that install the packages. The build runs them in the folder, as the agent's user. */
  readonly install: readonly string[];
}

/** The path of a file or folder that gets no dependency layer, with the reason. */
export interface LeftOutPath {
  readonly path: string;
  readonly reason: string;
}

export interface DependencyLayerOptions {
  readonly ignoreScripts: boolean;
}

export interface DependencyLayerFindings {
  readonly layers: readonly DependencyLayer[];
  readonly leftOut: readonly LeftOutPath[];
}

/**
 * The beginning of the line that a build prints for a layer without packages. Such a layer stays empty,
 * because the base image's tool does not fit the project.
 */
export const emptyLayerMark = "AIMI-LEFT-OUT:";

export const maxLayers = 20;

/** Makes a dependency layer. Parts that the caller leaves out are empty. */
export function createDependencyLayer(
  parts: Pick<DependencyLayer, "manager" | "folder" | "files"> & Partial<DependencyLayer>,
): DependencyLayer {
  return { emptyFiles: [], prepare: [], environment: [], install: [], ...parts };
}

/**
 * Returns a shell line that installs Debian packages. The Dockerfile fetches the package lists before all such lines, and
 * removes the lists after them.
 */
export function renderAptInstall(...packages: readonly string[]): string {
  return `apt-get install -y --no-install-recommends ${packages.join(" ")}`;
}
