declare module "fs-native-extensions" {
  /** Tries to lock an open file. Returns false if another open file holds a lock that excludes this one. */
  export function tryLock(fd: number, options?: { shared?: boolean }): boolean;
}
