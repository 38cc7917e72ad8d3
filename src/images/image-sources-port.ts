/** Access to the files on this machine from which swarm builds images. */
export interface ImageSources {
  /**
   * Reads a file of swarm's installation: `base.Dockerfile`, `project.Dockerfile.template`, or the start
   * script `adapter` or `gateway`.
   */
  readImageFile(name: string): Promise<Uint8Array>;
  /** Reads the adapter program, bundled into one JavaScript file. */
  readAdapter(): Promise<Uint8Array>;
  /** Reads the gateway program, bundled into one JavaScript file. */
  readGateway(): Promise<Uint8Array>;
  /**
   * Returns the CA certificates that this machine trusts in addition to the public ones, each as a PEM text.
   */
  readCertificates(): Promise<string[]>;
  /**
   * Returns the path of an npm package's archive. Downloads the archive from npm's registry unless the cache
   * contains it.
   */
  download(name: string, version: string, signal?: AbortSignal): Promise<string>;
  /** Assembles a minimal Debian root filesystem from Debian packages; returns it as a tar stream. */
  makeRootFilesystem(
    release: string,
    onStep: (step: string) => void,
    signal?: AbortSignal,
  ): AsyncIterable<Uint8Array>;
}
