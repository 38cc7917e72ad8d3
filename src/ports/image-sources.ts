/** What images are made of, as far as it comes from this machine. */
export interface ImageSources {
  /** One of our own files: `base.Dockerfile`, `project.Dockerfile.template`, `adapter`, `gateway`. */
  readImageFile(name: string): Promise<Uint8Array>;
  /** The bundled program of workers' sandboxes. */
  readAdapter(): Promise<Uint8Array>;
  /** That of gateways. */
  readGateway(): Promise<Uint8Array>;
  /** Certificates that this machine was told to trust besides the public ones, one PEM each. */
  readCertificates(): Promise<string[]>;
  /** A package as npm packs it, fetched once; the file that holds it. */
  download(name: string, version: string, signal?: AbortSignal): Promise<string>;
  /** A minimal Debian made of packages, as a tar stream. */
  makeRootFilesystem(
    release: string,
    onStep: (step: string) => void,
    signal?: AbortSignal,
  ): AsyncIterable<Uint8Array>;
}
