/** Returns a count with its noun, such as `1 worker` or `3 workers`. */
export function formatCount(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? "" : "s"}`;
}
