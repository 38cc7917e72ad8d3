/** The process that holds a lock, as the process describes itself. */
export interface LockHolder {
  readonly pid: number;
  readonly host: string;
  readonly since: string;
  readonly command: string;
}

/** Describes the holder of a lock in messages. Null means that the holder is unknown. */
export function describeHolder(holder: LockHolder | null): string {
  if (!holder) return "an unknown process";
  return `pid ${holder.pid} on ${holder.host} (${holder.command}, since ${holder.since})`;
}
