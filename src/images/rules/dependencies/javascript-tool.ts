import type { DependencyLayer } from "./dependency-layer.ts";
import { isJsonObject, type JsonObject } from "./manifest-text.ts";

export type JavascriptPackageManager = "npm" | "pnpm" | "yarn" | "bun";

interface ToolRequest {
  readonly manager: JavascriptPackageManager;
  /** The value of `packageManager` in package.json, such as `pnpm@9.1.0+sha512…`; "" if there is none. */
  readonly wanted: string;
  /** The text of the lockfile; undefined if there is no lockfile. */
  readonly lockText: string | undefined;
  readonly hasYarnrc: boolean;
  readonly isInsidePnpmWorkspace: boolean;
  readonly manifests: readonly JsonObject[];
  readonly ignoreScripts: boolean;
}

/**
 * Returns the shell lines that install the project's package manager, and the shell lines with which that
 * package manager installs the project's dependencies.
 */
export function renderJavascriptInstall(request: ToolRequest): Pick<DependencyLayer, "prepare" | "install"> {
  const calls = { npm: callNpm, pnpm: callPnpm, yarn: callYarn, bun: callBun };
  const { prepare, command, run } = calls[request.manager](request);
  return {
    prepare,
    install: [...removeOwnScripts(request), `CI=true ${command} ${run.filter(Boolean).join(" ")}`],
  };
}

interface Call {
  readonly prepare: readonly string[];
  readonly command: string;
  /** The parts of the installation's command line; empty parts count for nothing. */
  readonly run: readonly string[];
}

function callNpm({ wanted, lockText, ignoreScripts }: ToolRequest): Call {
  const version = pinned("npm", wanted);
  const tool = version ? fromRegistry("npm", "npm", version) : { prepare: [], command: "npm" };
  return {
    ...tool,
    run: [
      lockText === undefined ? "install --no-package-lock" : "ci",
      "--no-audit --no-fund",
      ignoreScripts ? "--ignore-scripts" : "",
    ],
  };
}

function callPnpm({ wanted, lockText = "", isInsidePnpmWorkspace, ignoreScripts }: ToolRequest): Call {
  const version = pinned("pnpm", wanted) ?? pnpmFor(lockText);
  return {
    ...fromRegistry("pnpm", "pnpm", version),
    run: [
      "install --frozen-lockfile",
      isInsidePnpmWorkspace ? "--ignore-workspace" : "",
      ignoreScripts ? "--ignore-scripts" : "",
    ],
  };
}

/**
 * Returns a version of pnpm that accepts the given lockfile. pnpm refuses lockfiles of much older pnpm
 * versions.
 */
function pnpmFor(lockText: string): string {
  const [, major = "9"] = /^lockfileVersion:\s*['"]?(\d+)/m.exec(lockText) ?? [];
  if (Number(major) < 6) return "7.33.7";
  return Number(major) < 9 ? "8.15.9" : "10.34.9";
}

function callYarn({ wanted, lockText = "", hasYarnrc, ignoreScripts }: ToolRequest): Call {
  const version = pinned("yarn", wanted);
  const isClassic =
    version === null ? !/^__metadata:/m.test(lockText) && !hasYarnrc : version.startsWith("1.");
  if (isClassic) {
    const run = ["install --frozen-lockfile --non-interactive", ignoreScripts ? "--ignore-scripts" : ""];
    return { ...fromRegistry("yarn", "yarn", version ?? "1.22.22"), run };
  }
  const tool = fromRegistry("yarn", "@yarnpkg/cli-dist", version ?? yarnFor(lockText));
  return {
    prepare: tool.prepare,
    command: `${ignoreScripts ? "YARN_ENABLE_SCRIPTS=false " : ""}${tool.command}`,
    run: ["install --immutable"],
  };
}

/**
 * Returns the last version of Yarn that writes the given lockfile's format. Any other version would change
 * the lockfile, which the option `--immutable` forbids.
 */
function yarnFor(lockText: string): string {
  const [, found = "10"] = /^__metadata:\s*\n\s+version:\s*(\d+)/m.exec(lockText) ?? [];
  const version = Number(found);
  if (version < 5) return "2.4.2";
  if (version < 6) return "3.1.1";
  if (version < 8) return "3.8.6";
  // Since Yarn 4.1, a checksum in the lockfile begins with a cache key and a slash.
  if (version === 8) return /^ +checksum: [0-9a-f]{128}\s*$/m.test(lockText) ? "4.0.2" : "4.13.0";
  return version === 9 ? "4.14.1" : "4.18.1";
}

function callBun({ wanted, ignoreScripts }: ToolRequest): Call {
  return {
    ...fromRegistry("bun", "bun", pinned("bun", wanted) ?? "1.4.4"),
    run: ["install --frozen-lockfile", ignoreScripts ? "--ignore-scripts" : ""],
  };
}

/**
 * Returns the exact version that the text of `packageManager` requires for the given package manager; null
 * if the text has any other form. The form is strict, because the version becomes part of a shell command.
 */
function pinned(manager: JavascriptPackageManager, wanted: string): string | null {
  const [, name, version] =
    /^([a-z]+)@(\d+\.\d+\.\d+(?:-[0-9A-Za-z.-]+)?)(?:\+[0-9A-Za-z.-]+)?$/.exec(wanted) ?? [];
  return name === manager && version !== undefined ? version : null;
}

/**
 * Returns shell lines that install a package manager from npm's registry. Each version has its own folder,
 * because layers may need different versions. The build runs the root folder's lines last, so the link in
 * /usr/local/bin leads to the root's version.
 */
function fromRegistry(command: string, name: string, version: string): Omit<Call, "run"> {
  const folder = `/opt/tools/${command}-${version}`;
  return {
    prepare: [
      `npm install --global --no-audit --no-fund --prefix ${folder} ${name}@${version}`,
      `ln -sf ${folder}/bin/${command} /usr/local/bin/${command}`,
    ],
    command: `${folder}/bin/${command}`,
  };
}

const ownScripts = [
  "preinstall",
  "install",
  "postinstall",
  "prepublish",
  "preprepare",
  "prepare",
  "postprepare",
  "pnpm:devPreinstall",
  "dependencies",
];
const needsNoSources = "^patch-package( [\\w.\\/=-]+)*$";

/**
 * Returns shell lines that remove the project's own install scripts from its package.json files, because
 * these scripts need sources that the image does not contain yet. The checkout later restores the files. The
 * install scripts of dependencies still run.
 */
function removeOwnScripts({ manifests, ignoreScripts }: ToolRequest): string[] {
  if (ignoreScripts || !manifests.some(hasOwnScripts)) return [];
  const program = [
    `const fs = require("fs"), names = ${JSON.stringify(ownScripts)};`,
    "for (const file of process.argv.slice(1)) {",
    'const manifest = JSON.parse(fs.readFileSync(file, "utf8").replace(/^\\uFEFF/, ""));',
    // The program must not contain `{}`, which `find` would replace by file names.
    `for (const name of names) if (manifest.scripts && !/${needsNoSources}/.test(manifest.scripts[name])) delete manifest.scripts[name];`,
    "fs.writeFileSync(file, JSON.stringify(manifest, null, 2));",
    "}",
  ].join(" ");
  return [`find . -name node_modules -prune -o -name package.json -exec node -e '${program}' '{}' +`];
}

function hasOwnScripts({ scripts }: JsonObject): boolean {
  const harmless = new RegExp(needsNoSources);
  return ownScripts.some((name) => {
    const script = isJsonObject(scripts) ? scripts[name] : undefined;
    return typeof script === "string" && !harmless.test(script);
  });
}
