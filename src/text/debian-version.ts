/**
 * Returns the rank of a version's character in Debian's order. The order is `~`, then a digit or the end of
 * the text (undefined), then letters, then other characters.
 */
function weightOf(sign: string | undefined): number {
  if (sign === "~") return -1;
  if (sign === undefined || /\d/.test(sign)) return 0;
  return /[a-z]/i.test(sign) ? sign.charCodeAt(0) : sign.charCodeAt(0) + 256;
}

function compareWords(x: string, y: string): number {
  for (let at = 0; at < Math.max(x.length, y.length); at += 1) {
    const order = weightOf(x[at]) - weightOf(y[at]);
    if (order !== 0) return order;
  }
  return 0;
}

/**
 * Compares two versions as Debian does: numbers by their value, and `~` before the end of the text, so that
 * `1.0~rc1` comes before `1.0`.
 */
export function compareDebianVersions(one: string, other: string): number {
  const [a = [], b = []] = [one, other].map(
    (version): string[] => version.replace(/-(?=rc|beta|alpha)/, "~").match(/\d+|\D+/g) ?? [],
  );
  for (let at = 0; at < Math.max(a.length, b.length); at += 1) {
    const [x = "", y = ""] = [a[at], b[at]];
    const isNumber = /^\d*$/.test(x) && /^\d*$/.test(y) && !(x === "" && y === "");
    const order = isNumber ? Number(x) - Number(y) : compareWords(x, y);
    if (order !== 0) return order;
  }
  return 0;
}
