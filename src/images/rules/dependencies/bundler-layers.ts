import { joinPath } from "../../../text/tree-path.ts";
import { echoMarkedMessage } from "../dockerfile-text.ts";
import { type DependencyLayerOptions, emptyLayerMark, renderAptInstall } from "./dependency-layer.ts";
import type { FolderLayerVerdict, LayerDetector, ManifestTree } from "./manifest-tree.ts";

/** Shell lines that install Ruby and the compilers for the native parts of gems. */
const prepare: readonly string[] = [
  renderAptInstall("ruby", "ruby-dev", "ruby-bundler", "build-essential", "libyaml-dev"),
];

const wrongRubyExit = 18;

/**
 * Finds the dependency layers of an image for folders with both a Gemfile and a Gemfile.lock. The
 * repository's root folder needs no Gemfile.lock.
 */
export const bundlerLayers: LayerDetector = { manifests: ["Gemfile"], judge };

function judge(
  tree: ManifestTree,
  folder: string,
  { ignoreScripts }: DependencyLayerOptions,
): FolderLayerVerdict {
  const path = joinPath(folder, "Gemfile");
  const hasLock = tree.has(joinPath(folder, "Gemfile.lock"));
  if (!hasLock && folder !== "") return null;
  if (ignoreScripts)
    return { path, reason: "gems run their own code during installation, which --ignore-scripts forbids" };
  const line = tree.text(path).split("\n").findIndex(wantsSources);
  if (line >= 0) return { path, reason: `line ${line + 1} needs files that the image does not contain yet` };

  return {
    layer: {
      manager: "bundler",
      files: [path, ...tree.present(folder, "Gemfile.lock", ".ruby-version", ".tool-versions")],
      prepare,
      install: [
        'bundle config set --global path "$HOME/.local/share/gems"',
        `${hasLock ? "BUNDLE_FROZEN=true bundle install" : "bundle install"} || { code=$?; test $code -eq ${wrongRubyExit} && ${echoMarkedMessage(emptyLayerMark, "the Gemfile needs a Ruby version other than $(ruby --version)")} || exit $code; }`,
        ...(hasLock ? [] : ["rm -f Gemfile.lock"]),
      ],
    },
  };
}

function wantsSources(line: string): boolean {
  const code = line.trim();
  return (
    /^(?:gemspec|path|eval_gemfile|instance_eval|require_relative)\b/.test(code) ||
    /^gem\b.*(?:\bpath:|:path\s*=>)/.test(code) ||
    /^[^#]*\bFile\./.test(code)
  );
}
