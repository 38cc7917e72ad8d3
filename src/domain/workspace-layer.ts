import { announce, inTurn, runInstruction } from "./dockerfile-text.ts";

/** How the bundle with the commit gets into the build: mounted for one instruction, or copied by builders that cannot mount. */
export type Transfer = "buildkit" | "classic";

/** Where the bundle lies in the build context. */
export const bundlePath = "workspace.bundle";

/** The build argument that says which commit is checked out. */
export const commitArgument = "BASE_COMMIT";

const bundle = "/tmp/workspace.bundle";

/** The last layer of an image: the tree of one commit with its history, as user 1000, and clean. */
export function workspaceLayer({
  transfer,
  continuation,
}: {
  transfer: Transfer;
  continuation?: string;
}): string {
  const declared = `ARG ${commitArgument}`;
  switch (transfer) {
    case "buildkit": {
      const flags = `--mount=type=bind,source=${bundlePath},target=${bundle}`;
      return [declared, runInstruction(checkout, { flags, ...(continuation && { continuation }) })].join(
        "\n",
      );
    }
    case "classic":
      return [
        declared,
        `COPY --chown=1000:1000 ["${bundlePath}", "${bundle}"]`,
        runInstruction([...checkout.slice(0, -1), `${checkout.at(-1)};`, `rm -f ${bundle}`], {
          ...(continuation && { continuation }),
        }),
      ].join("\n");
  }
}

/** What installations leave in a tree; only what git neither tracks nor ignores is excluded. */
const installed =
  "(^|/)(node_modules/|\\.pnp\\.(c?js|loader\\.mjs)|\\.yarn/((cache|unplugged)/|install-state\\.gz|build-state\\.yml)?)$";

/** As patterns of git: from the root, and of Yarn's own folder only what it makes itself; patches and the like are the project's. */
const asPatterns = "s/[][*?\\]/\\\\&/g; s|^|/|; s|/\\.yarn/$|&[bciu]*|";

/**
 * Without templates, hooks and configuration of anybody: the tree is what the commit says. Manifests that were there before are
 * overwritten, and what is left over afterwards is an error with its name.
 */
const checkout: readonly string[] = inTurn([
  "set -eu",
  "export HOME=/tmp GIT_CONFIG_GLOBAL=/dev/null GIT_CONFIG_NOSYSTEM=1",
  "cd /workspace",
  "rm -rf .git",
  // An older git knows no other format, and not the word for it either.
  `git init --quiet --template= $(if [ "\${#${commitArgument}}" -eq 64 ]; then echo --object-format=sha256; fi)`,
  `git -c gc.auto=0 fetch --quiet --no-tags ${bundle} refs/heads/workspace`,
  `if [ "$(git rev-parse FETCH_HEAD)" != "$${commitArgument}" ]; then ${announce("AIMI-WRONG-BUNDLE:", `it does not hold $${commitArgument}`)}; exit 1; fi`,
  `git checkout --quiet --force -B workspace "$${commitArgument}"`,
  "rm -f .git/FETCH_HEAD",
  "mkdir -p .git/info",
  `git ls-files --others --exclude-standard --directory | { grep -E '${installed}' || true; } | sed '${asPatterns}' >> .git/info/exclude`,
  'dirty="$(git status --porcelain)"',
  `if [ -n "$dirty" ]; then ${announce("AIMI-DIRTY:", "the tree differs from the commit:")}; printf '%s\\n' "$dirty"; exit 1; fi`,
]);
