import { folderOf, nameOf, resolvePath } from "./tree-path.ts";

/** A changed path that deserves a look, clean to be shown. */
export interface SensitivePath {
  readonly path: string;
  readonly why: SensitiveReason;
}

export type SensitiveReason =
  | "workflow" // runs on somebody's servers
  | "agent-settings" // steers coding agents, ours among them
  | "swarm-settings"
  | "dev-container"
  | "dockerfile"
  | "git-hooks"
  | "git-settings"
  | "package-scripts"
  | "link-out"; // a link that leaves the tree

/** A path that differs between two commits, with what is known about it. */
export interface ChangedPath {
  readonly path: string;
  /** What a link leads to; null where it is no link. */
  readonly linkTo: string | null;
  /** Of a package.json: whether other scripts run by it than before. */
  readonly hasOtherScripts: boolean;
}

/** As parts of a path, wherever they are: a tool can be started in any folder. A part that is a link or file counts too. */
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
  // Something else in the place of the folder that holds the workflows.
  [/^\.github$/, "workflow"],
];

/** Why somebody should look at a change before working with it; null for most. Upper and lower case are the same to many disks. */
export function sensitiveReason({ path, linkTo, hasOtherScripts }: ChangedPath): SensitiveReason | null {
  const lower = path.toLowerCase();
  const enclosed = `/${lower}/`;
  const folder = folders.find(([parts]) => enclosed.includes(parts));
  if (folder) return folder[1];
  const name = names.find(([pattern]) => pattern.test(nameOf(lower)));
  if (name) return name[1];
  if (linkTo !== null && resolvePath(folderOf(path), linkTo) === null) return "link-out";
  return hasOtherScripts ? "package-scripts" : null;
}

/** Whether a package.json runs other scripts than it did; what cannot be read is taken to. */
export function hasOtherScripts(before: string | null, after: string | null): boolean {
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
