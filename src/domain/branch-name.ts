/**
 * Whether git takes this as the name of a branch (`git check-ref-format --branch`), and nothing takes it for a flag.
 * A test asks git itself about thousands of names.
 */
export function isBranchName(name: string): boolean {
  if (name === "" || name === "@" || name === "HEAD" || name.startsWith("-")) return false;
  if (name.startsWith("/") || name.endsWith("/") || name.endsWith(".") || name.includes("//")) return false;
  if (name.includes("..") || name.includes("@{")) return false;
  if (/[\u0000-\u0020\u007f~^:?*[\\]/.test(name)) return false;
  return name.split("/").every((part) => !part.startsWith(".") && !part.endsWith(".lock"));
}

/** Whether git cannot keep both, or they are one. */
export function branchesClash(one: string, other: string): boolean {
  return one === other || one.startsWith(`${other}/`) || other.startsWith(`${one}/`);
}
