import { baseNameOf, parentFolderOf, resolvePath } from "../../text/tree-path.ts";

/** A path that an agent's work changes and that the user should review. The path is sanitized for display. */
export interface SensitivePath {
  readonly path: string;
  readonly why: SensitiveReason;
}

type SensitiveReason =
  | "workflow" // scripts that the repository's host (for example GitHub) runs
  | "agent-settings" // instructions to coding agents, swarm's own included
  | "swarm-settings"
  | "dev-container"
  | "dockerfile"
  | "git-hooks"
  | "git-settings"
  | "package-scripts"
  | "link-out"; // a symbolic link that leaves the tree

/** A path whose file differs between two commits. */
interface ChangedPath {
  readonly path: string;
  /** The symbolic link's target; null if the path is no symbolic link. */
  readonly linkTo: string | null;
  /** Whether the path is a package.json whose scripts differ between the commits. */
  readonly hasChangedScripts: boolean;
}

/**
 * Folders in whose files the user should review each change, at any depth of the tree. A link or file with
 * such a folder's name counts, too.
 */
const folders: readonly (readonly [parts: string, why: SensitiveReason])[] = [
  ["/.github/workflows/", "workflow"],
  ["/.claude/", "agent-settings"],
  ["/.aimi/", "swarm-settings"],
  ["/.devcontainer/", "dev-container"],
  ["/.husky/", "git-hooks"],
];

const names: readonly (readonly [name: RegExp, why: SensitiveReason])[] = [
  [/^(?:claude|agents)(?:\.local)?\.md$/, "agent-settings"],
  [/^(?:(?:docker|container)file(?:\..*)?|.*\.(?:docker|container)file)$/, "dockerfile"],
  [/^\.devcontainer\.json$/, "dev-container"],
  [/^\.git(?:modules|attributes)$/, "git-settings"],
  // A link or a file that replaces the folder with the workflows.
  [/^\.github$/, "workflow"],
];

/**
 * Returns why the user should review the change of a path; null if a review is not needed. Ignores upper and
 * lower case in paths, as many file systems do.
 */
export function findSensitiveReason({
  path,
  linkTo,
  hasChangedScripts,
}: ChangedPath): SensitiveReason | null {
  const lower = path.toLowerCase();
  const enclosed = `/${lower}/`;
  const folder = folders.find(([parts]) => enclosed.includes(parts));
  if (folder) return folder[1];
  const name = names.find(([pattern]) => pattern.test(baseNameOf(lower)));
  if (name) return name[1];
  if (linkTo !== null && resolvePath(parentFolderOf(path), linkTo) === null) return "link-out";
  return hasChangedScripts ? "package-scripts" : null;
}

/**
 * Whether the two versions of a package.json have different scripts. If the new version is not valid JSON,
 * any difference between the texts counts.
 */
export function hasChangedScripts(before: string | null, after: string | null): boolean {
  const [old, now] = [scriptsIn(before), scriptsIn(after)];
  return now === "unreadable" ? after !== before : now !== (old === "unreadable" ? "" : old);
}

function scriptsIn(text: string | null): string {
  if (text === null) return "";
  try {
    const document: unknown = JSON.parse(text.replace(/^\ufeff/, ""));
    if (typeof document !== "object" || document === null) return "";
    const { scripts } = document as { readonly scripts?: unknown };
    if (typeof scripts !== "object" || scripts === null) return "";
    return JSON.stringify(Object.entries(scripts).sort(([one], [other]) => (one < other ? -1 : 1)));
  } catch {
    return "unreadable";
  }
}
