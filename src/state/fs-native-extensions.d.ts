declare module "fs-native-extensions" {
  /** False when another open file holds a lock that excludes this one. */
  export function tryLock(fd: number, options?: { shared?: boolean }): boolean;
}
