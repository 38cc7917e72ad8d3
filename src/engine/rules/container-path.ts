import { SwarmError } from "../../errors/errors.ts";

/**
 * Converts a path into an absolute path in the container. If `absolute` is true, a leading `/` means the
 * container's root; otherwise it means the working folder. Throws PATH_REFUSED if `..` leads out of that
 * folder, or if the path is malformed.
 */
export function resolveContainerPath(
  workdir: string,
  path: string,
  { absolute }: { readonly absolute: boolean },
): string {
  const refuse = (reason: string): never => {
    throw new SwarmError("PATH_REFUSED", { path, reason });
  };
  if (path.includes("\0")) refuse("the path contains a NUL character");
  if (path.length > 4096) refuse("the path is longer than 4096 characters");
  if (absolute && !path.startsWith("/")) refuse("the path is not absolute");
  const parts: string[] = [];
  for (const part of path.split("/")) {
    if (part === "" || part === ".") continue;
    if (part !== "..") parts.push(part);
    else if (parts.pop() === undefined)
      refuse("`..` in the path leads outside the working folder or the root folder");
  }
  const base = absolute ? "" : workdir.replace(/\/+$/, "");
  return parts.length > 0 ? `${base}/${parts.join("/")}` : base || "/";
}
