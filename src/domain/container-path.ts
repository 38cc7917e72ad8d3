import { SwarmError } from "./errors.ts";

/**
 * Resolves a caller's path to an absolute path in the container. `x` and `/x` both mean `x` in the working folder; only
 * with `absolute` does `/x` mean the container's own `/x`. Throws PATH_REFUSED if the path leads out. Callers pass the
 * result as an argument of a program, never as shell text.
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
    else if (parts.pop() === undefined) refuse("the path leaves the working folder");
  }
  const base = absolute ? "" : workdir.replace(/\/+$/, "");
  return parts.length > 0 ? `${base}/${parts.join("/")}` : base || "/";
}
