/** The process that holds a lock, as the process describes itself. */
export interface LockHolder {
  readonly pid: number;
  readonly host: string;
  readonly since: string;
  readonly command: string;
}

/** Describes the holder of a lock to the user; null is a holder that did not describe itself. */
export function describeHolder(holder: LockHolder | null): string {
  if (!holder) return "a process that did not give its name";
  return `pid ${holder.pid} on ${holder.host} (${holder.command}, since ${holder.since})`;
}
