/** The inputs of images that come from this machine. */
export interface ImageSources {
  /** A file of swarm: `base.Dockerfile`, `project.Dockerfile.template`, `adapter`, `gateway`. */
  readImageFile(name: string): Promise<Uint8Array>;
  /** The bundled adapter. */
  readAdapter(): Promise<Uint8Array>;
  /** The bundled gateway. */
  readGateway(): Promise<Uint8Array>;
  /** Certificates that this machine trusts in addition to the public ones, one PEM each. */
  readCertificates(): Promise<string[]>;
  /** Downloads a package from npm's registry once; returns the path of its archive. */
  download(name: string, version: string, signal?: AbortSignal): Promise<string>;
  /** A minimal Debian, made from packages, as a tar stream. */
  makeRootFilesystem(
    release: string,
    onStep: (step: string) => void,
    signal?: AbortSignal,
  ): AsyncIterable<Uint8Array>;
}
