/** The content of a file, with its paths and its checksum. */
export interface FileContent {
  /** The path of the file, as messages show it to the user. */
  readonly path: string;
  /** The file's path with symbolic links resolved. */
  readonly realPath: string;
  readonly sha256: string;
  readonly bytes: Uint8Array;
}
/**
 * The list of files that this user has trusted. A file that has since been moved or changed is not trusted.
 */
export interface TrustFile {
  isTrusted(realPath: string, sha256: string): Promise<boolean>;
  trust(files: readonly { readonly realPath: string; readonly sha256: string }[]): Promise<void>;
}
