/** The process that holds a lock, as it described itself. */
export interface LockHolder {
  readonly pid: number;
  readonly host: string;
  readonly since: string;
  readonly command: string;
}

/** A holder in words. */
export function describeHolder(holder: LockHolder | null): string {
  if (!holder) return "a process that did not give its name";
  return `pid ${holder.pid} on ${holder.host} (${holder.command}, since ${holder.since})`;
}
