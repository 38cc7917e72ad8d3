/** Access to the files of this machine from which swarm builds images. */
export interface ImageSources {
  /**
   * Reads a file that comes with swarm: `base.Dockerfile`, `project.Dockerfile.template`, `adapter` or
   * `gateway`.
   */
  readImageFile(name: string): Promise<Uint8Array>;
  /** Reads the adapter, bundled into one file. */
  readAdapter(): Promise<Uint8Array>;
  /** Reads the gateway, bundled into one file. */
  readGateway(): Promise<Uint8Array>;
  /**
   * Returns the certificates that this machine trusts in addition to the public ones, as one PEM text each.
   */
  readCertificates(): Promise<string[]>;
  /**
   * Downloads a package from npm's registry unless the cache has the package; returns the path of the
   * package's archive.
   */
  download(name: string, version: string, signal?: AbortSignal): Promise<string>;
  /** Assembles a minimal Debian file system from packages; returns it as a tar stream. */
  makeRootFilesystem(
    release: string,
    onStep: (step: string) => void,
    signal?: AbortSignal,
  ): AsyncIterable<Uint8Array>;
}
