/** The process that holds a lock, with the data that the process itself wrote into the lock file. */
export interface LockHolder {
  readonly pid: number;
  readonly host: string;
  readonly since: string;
  readonly command: string;
}

/** Describes for messages which process holds a lock. Null means that the holder is unknown. */
export function describeHolder(holder: LockHolder | null): string {
  if (!holder) return "an unknown process";
  return `pid ${holder.pid} on ${holder.host} (${holder.command}, since ${holder.since})`;
}
