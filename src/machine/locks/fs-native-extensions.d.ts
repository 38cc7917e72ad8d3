declare module "fs-native-extensions" {
  /** Tries to lock an open file. Returns false if a conflicting lock is held through another file handle. */
  export function tryLock(fd: number, options?: { shared?: boolean }): boolean;
}
