import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { readdir, readFile, rm, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { type BuildOptions, build, type Plugin } from "esbuild";
import { generateValidators } from "./generate.ts";

const root: string = fileURLToPath(new URL("..", import.meta.url));

const common: BuildOptions = {
  absWorkingDir: root,
  bundle: true,
  format: "esm",
  platform: "node",
  target: "node24",
  outdir: "dist",
  logLevel: "warning",
};

const quickCommands = {
  "quick-status": "src/cli/quick-status.ts",
  "list-containers": "src/app/list-containers.ts",
  "fast-hooks": "src/claude-code/fast-hooks.ts",
};

/** The folders and files that `dist/` depends on. */
const madeFrom = [
  "src",
  "adapter",
  "gateway",
  "schemas",
  "scripts/build.ts",
  "scripts/generate.ts",
  "package-lock.json",
];
const stampFile: string = `${root}/dist/.made-from`;

/** Builds `dist/`, unless it was built from exactly these sources. */
export async function buildIfChanged(): Promise<void> {
  const made = await readFile(stampFile, "utf8").catch(() => "");
  if (made !== (await sourcesHash())) await buildProduct({ types: false });
}

async function sourcesHash(): Promise<string> {
  const hash = createHash("sha256");
  for (const name of madeFrom) {
    const isFolder = (await stat(join(root, name))).isDirectory();
    const entries = isFolder ? await readdir(join(root, name), { recursive: true, withFileTypes: true }) : [];
    const files = entries
      .filter((entry) => entry.isFile())
      .map((entry) => join(entry.parentPath, entry.name));
    for (const file of isFolder ? files.sort() : [join(root, name)]) {
      // Every build generates the validators.
      if (file.includes("schema/generated/")) continue;
      hash
        .update(`${file}\0`)
        .update(await readFile(file))
        .update("\0");
    }
  }
  return hash.digest("hex");
}

/** Builds `dist/`: the program, the library with its types, and the in-container programs, each in one file. */
export async function buildProduct({ types }: { types: boolean }): Promise<void> {
  await rm(`${root}/dist`, { recursive: true, force: true });
  await generateValidators();
  await Promise.all([
    // CommonJS: Node then skips its module loader, a third of the time of `swarm --version`. Each quick answer has its
    // own file, since reading unneeded code takes longer than the answer.
    build({
      ...common,
      entryPoints: { main: "src/main.ts", ...quickCommands },
      format: "cjs",
      outExtension: { ".js": ".cjs" },
      supported: { "dynamic-import": false },
      plugins: [
        leaveOut("./app/run-program.ts", "./program.cjs"),
        ...Object.entries(quickCommands).map(([name, source]) =>
          leaveOut(source.replace(/^src/, "."), `./${name}.cjs`),
        ),
      ],
    }),
    // One file with all packages: resolving hundreds of modules takes longer than reading code that most commands do not
    // need, and Node's compile cache (`src/main.ts`) is one file too.
    build({
      ...common,
      entryPoints: { program: "src/app/run-program.ts" },
      format: "cjs",
      outExtension: { ".js": ".cjs" },
      mainFields: ["module", "main"],
      supported: { "dynamic-import": false },
      define: { "import.meta.url": "thisFile" },
      banner: { js: 'const thisFile = require("node:url").pathToFileURL(__filename).href;' },
      // It loads a native addon from its own folder.
      external: ["fs-native-extensions"],
      plugins: [leaveOut("dockerode", "./dockerode.cjs")],
    }),
    build({
      ...common,
      entryPoints: ["src/index.ts"],
      splitting: true,
      packages: "external",
      chunkNames: "[name]-[hash]",
      plugins: [leaveOut("dockerode", "./dockerode.cjs")],
    }),
    // Its code for SSH and for BuildKit sessions, which swarm does not use, takes more than half of the time and memory of
    // loading it.
    build({
      ...common,
      entryPoints: { dockerode: "dockerode" },
      format: "cjs",
      outExtension: { ".js": ".cjs" },
      plugins: [withoutContent("ssh2", "@grpc/grpc-js", "@grpc/proto-loader", "protobufjs")],
    }),
    build({
      ...common,
      entryPoints: { adapter: "adapter/main.ts", gateway: "gateway/main.ts" },
      outExtension: { ".js": ".mjs" },
    }),
  ]);
  await writeFile(stampFile, await sourcesHash());
  if (types) {
    const tsc = `${root}/node_modules/typescript/bin/tsc`;
    const flags = ["--project", "scripts/tsconfig.types.json"];
    execFileSync(process.execPath, [tsc, ...flags], { cwd: root, stdio: "inherit" });
  }
}

/** Keeps an import out of the bundle: it is loaded from a file next to it. */
function leaveOut(source: string, built: string): Plugin {
  return {
    name: "leave-out",
    setup({ onResolve }) {
      onResolve({ filter: /./ }, ({ path }) =>
        path === source ? { path: built, external: true } : undefined,
      );
    },
  };
}

/** Replaces packages by empty modules. */
function withoutContent(...names: readonly string[]): Plugin {
  return {
    name: "without-content",
    setup({ onResolve, onLoad }) {
      onResolve({ filter: /./ }, ({ path }) =>
        names.includes(path) ? { path, namespace: "empty" } : undefined,
      );
      onLoad({ filter: /./, namespace: "empty" }, () => ({ contents: "" }));
    },
  };
}

if (import.meta.main) {
  await buildProduct({ types: true });
  console.error("Built dist/: the command (bin/swarm), the library and the in-container programs.");
}
