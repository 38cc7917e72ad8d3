import { baseNameOf, parentFolderOf, resolvePath } from "./tree-path.ts";

/** A changed path that the user should review. The text of the path is safe to show. */
export interface SensitivePath {
  readonly path: string;
  readonly why: SensitiveReason;
}

export type SensitiveReason =
  | "workflow" // scripts that the repository's host (for example GitHub) runs
  | "agent-settings" // instructions to coding agents, swarm's own included
  | "swarm-settings"
  | "dev-container"
  | "dockerfile"
  | "git-hooks"
  | "git-settings"
  | "package-scripts"
  | "link-out"; // a symbolic link that leaves the tree

/** A path that differs between two commits. */
export interface ChangedPath {
  readonly path: string;
  /** The target if the path is a symbolic link; null otherwise. */
  readonly linkTo: string | null;
  /** Whether the path is that of a package.json whose scripts changed. */
  readonly hasChangedScripts: boolean;
}

/**
 * Folders whose changes the user should review, at any depth of the tree. A link or file with the name of
 * such a folder counts, too.
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
 * Returns why the user should review a change; null if the user need not. Ignores the case of paths, as many
 * file systems do.
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
 * Whether the scripts in a package.json changed. If the new text is not valid JSON, any change of the text
 * counts.
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
