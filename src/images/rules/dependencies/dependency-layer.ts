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
 * A layer of a project's image with the packages that one package manager installs for one folder. The layer
 * is built from manifests and lockfiles only, without the project's sources.
 */
export interface DependencyLayer {
  readonly manager: PackageManager;
  /** The folder's path in the repository; "" is the repository's root. */
  readonly folder: string;
  /**
   * The paths of manifests and lockfiles that git tracks. The image build copies them into the image before
   * the sources.
   */
  readonly files: readonly string[];
  /**
   * The paths of source files that the package manager requires to exist but does not read. The image build
   * creates empty files at these paths.
   */
  readonly emptyFiles: readonly string[];
  /** Shell lines that install the package manager. The image build runs them as root. */
  readonly prepare: readonly string[];
  /** Environment variables that this layer sets for later layers and for the agent. */
  readonly environment: readonly (readonly [name: string, value: string])[];
  /**
   * Shell lines that install the packages. The image build runs them in the layer's folder, as the agent's
   * user.
   */
  readonly install: readonly string[];
}

/** The path of a file or folder that gets no dependency layer, with the reason. */
export interface PathWithoutDependencyLayer {
  readonly path: string;
  readonly reason: string;
}

export interface DependencyLayerOptions {
  readonly ignoreScripts: boolean;
}

export interface DependencyLayerFindings {
  readonly layers: readonly DependencyLayer[];
  readonly leftOut: readonly PathWithoutDependencyLayer[];
}

/**
 * The beginning of the line that an image build prints for a layer that stays empty. Such a layer installs
 * no packages, because the tool in the base image, such as Ruby, does not fit the project.
 */
export const emptyLayerMark = "AIMI-LEFT-OUT:";

export const maxLayers = 20;

/**
 * Returns a shell line that installs Debian packages. The Dockerfile fetches Debian's package lists before
 * all such lines, and deletes the lists after them.
 */
export function renderAptInstall(...packages: readonly string[]): string {
  return `apt-get install -y --no-install-recommends ${packages.join(" ")}`;
}
