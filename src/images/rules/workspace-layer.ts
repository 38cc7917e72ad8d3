import { echoMarkedMessage, joinShellLines, renderRunInstruction } from "./dockerfile-text.ts";

/**
 * How the build of an image gets the git bundle with the commit: BuildKit mounts the bundle during one
 * instruction; the classic builder copies it.
 */
export type BundleTransfer = "buildkit" | "classic";

/** The file name of the git bundle in the image's build context. */
export const workspaceBundleFileName = "workspace.bundle";

/** The name of the Docker build argument that contains the ID of the commit to check out. */
export const commitBuildArgument = "BASE_COMMIT";

const bundle = "/tmp/workspace.bundle";

/**
 * Renders the Dockerfile instructions of an image's last layer: a clean checkout of one commit with its
 * history, owned by user 1000.
 */
export function workspaceLayer(transfer: BundleTransfer, continuation?: string): string {
  const mount = `--mount=type=bind,source=${workspaceBundleFileName},target=${bundle}`;
  const instructions =
    transfer === "buildkit"
      ? [renderRunInstruction(checkout, continuation, mount)]
      : [
          `COPY --chown=1000:1000 ["${workspaceBundleFileName}", "${bundle}"]`,
          renderRunInstruction(
            [...checkout.slice(0, -1), `${checkout.at(-1)};`, `rm -f ${bundle}`],
            continuation,
          ),
        ];
  return [`ARG ${commitBuildArgument}`, ...instructions].join("\n");
}

/**
 * Matches files that package managers install into the working tree. Of these files, the build adds those
 * that git reports as untracked to git's exclude file.
 */
const installed =
  "(^|/)(node_modules/|\\.pnp\\.(c?js|loader\\.mjs)|\\.yarn/((cache|unplugged)/|install-state\\.gz|build-state\\.yml)?)$";

/**
 * A sed script that converts paths of files into patterns for git's exclude file. In `.yarn/`, the patterns
 * match only Yarn's own files, because the project may keep patches there.
 */
const asPatterns = "s/[][*?\\]/\\\\&/g; s|^|/|; s|/\\.yarn/$|&[bciu]*|";

/**
 * Shell lines that check out the commit and ignore all git templates, hooks and configuration of the image
 * and the user. If the working tree then differs from the commit, they print the differing files and fail.
 */
const checkout: readonly string[] = joinShellLines([
  "set -eu",
  "export HOME=/tmp GIT_CONFIG_GLOBAL=/dev/null GIT_CONFIG_NOSYSTEM=1",
  "cd /workspace",
  "rm -rf .git",
  // An old git lacks this option and SHA-256, so the option appears only for a commit ID of 64 digits.
  `git init --quiet --template= $(if [ "\${#${commitBuildArgument}}" -eq 64 ]; then echo --object-format=sha256; fi)`,
  `git -c gc.auto=0 fetch --quiet --no-tags ${bundle} refs/heads/workspace`,
  `if [ "$(git rev-parse FETCH_HEAD)" != "$${commitBuildArgument}" ]; then ${echoMarkedMessage("AIMI-WRONG-BUNDLE:", `the bundle does not contain $${commitBuildArgument}`)}; exit 1; fi`,
  `git checkout --quiet --force -B workspace "$${commitBuildArgument}"`,
  "rm -f .git/FETCH_HEAD",
  "mkdir -p .git/info",
  `git ls-files --others --exclude-standard --directory | { grep -E '${installed}' || true; } | sed '${asPatterns}' >> .git/info/exclude`,
  'dirty="$(git status --porcelain)"',
  `if [ -n "$dirty" ]; then ${echoMarkedMessage("AIMI-DIRTY:", "the working tree differs from the commit:")}; printf '%s\\n' "$dirty"; exit 1; fi`,
]);
