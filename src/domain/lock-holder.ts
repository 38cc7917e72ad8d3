/** The process that holds a lock. The process itself wrote these facts. */
export interface LockHolder {
  readonly pid: number;
  readonly host: string;
  readonly since: string;
  readonly command: string;
}

/** Describes the holder of a lock in messages. The holder is null if it left no description. */
export function describeHolder(holder: LockHolder | null): string {
  if (!holder) return "an unknown process";
  return `pid ${holder.pid} on ${holder.host} (${holder.command}, since ${holder.since})`;
}
