import { createHash } from "node:crypto";
import { chmod, mkdir, mkdtemp, readdir, readFile, rename, rm, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { ifMissing } from "../errors/system-errors.ts";
import { packageFolder } from "../machine/package-files.ts";
import type { Project } from "../project/project.ts";

const parts = [".claude-plugin", "commands", "hooks", "skills"];
const lockWaitMs = 20_000;

/** The parts of a project with which swarm writes its plugin. */
export type PluginProject = Pick<Project, "host">;

interface PluginFile {
  readonly path: string;
  readonly content: Buffer;
}

/**
 * Writes swarm's plugin for Claude Code into a folder without other files, because Claude Code copies a
 * plugin's whole folder. Leaves an up-to-date folder unchanged, so that running sessions are not disturbed.
 * Returns the path of the folder.
 */
export async function writePluginFolder({ host: { folders, locks } }: PluginProject): Promise<string> {
  const parent = folders.state;
  const target = join(parent, "plugin");
  const files = [...(await filesOfPackage()), programFile()];
  const digest = digestOf(files);
  await mkdir(parent, { recursive: true, mode: 0o700 });
  await using _held = await locks.at(join(parent, "plugin.lock")).acquire(lockWaitMs);
  if ((await readFile(join(target, "digest"), "utf8").catch(() => "")) === digest) return target;
  for (const name of await readdir(parent))
    if (/^plugin-(?:new|old)-/.test(name)) await rm(join(parent, name), { recursive: true, force: true });

  const fresh = await mkdtemp(join(parent, "plugin-new-"));
  for (const { path, content } of files) {
    const file = join(fresh, path);
    await mkdir(dirname(file), { recursive: true });
    await writeFile(file, content);
    // Set the modes whatever the umask and the installation have: only the user may write, and programs are
    // executable.
    await chmod(file, path === "bin/swarm" || path.endsWith(".sh") ? 0o755 : 0o644);
  }
  await writeFile(join(fresh, "digest"), digest);
  await chmod(fresh, 0o755);
  for (const entry of await readdir(fresh, { recursive: true, withFileTypes: true }))
    if (entry.isDirectory()) await chmod(join(entry.parentPath, entry.name), 0o755);
  const old = await mkdtemp(join(parent, "plugin-old-"));
  await rename(target, join(old, "plugin")).catch(ifMissing(undefined));
  await rename(fresh, target);
  await rm(old, { recursive: true, force: true });
  return target;
}

/** Reads the version from the manifest of the plugin in a folder. */
export async function pluginVersion(folder: string): Promise<string> {
  const { version } = JSON.parse(await readFile(join(folder, ".claude-plugin", "plugin.json"), "utf8"));
  return String(version);
}

async function filesOfPackage(): Promise<PluginFile[]> {
  const found = await Promise.all(
    parts.map(async (part) => {
      const entries = await readdir(join(packageFolder, part), { recursive: true, withFileTypes: true });
      return entries
        .filter((entry) => entry.isFile())
        .map(({ parentPath, name }) => join(parentPath, name).slice(packageFolder.length + 1));
    }),
  );
  const paths = found.flat().sort();
  return Promise.all(
    paths.map(async (path) => ({ path, content: await readFile(join(packageFolder, path)) })),
  );
}

/**
 * Returns the plugin's file `bin/swarm`, a script that starts this installation of swarm. The script names
 * Node by its full path, because a project could put another Node on `PATH`.
 */
function programFile(): PluginFile {
  const node = quoted(process.execPath);
  const main = quoted(join(packageFolder, "dist", "main.cjs"));
  const text = [
    "#!/bin/sh",
    "# Starts the swarm program that installed this plugin.",
    `[ -x ${node} ] && exec ${node} ${main} "$@"`,
    `exec ${quoted(join(packageFolder, "bin", "swarm"))} "$@"`,
    "",
  ].join("\n");
  return { path: "bin/swarm", content: Buffer.from(text) };
}

function digestOf(files: readonly PluginFile[]): string {
  const hash = createHash("sha256");
  for (const { path, content } of files) hash.update(`${path}\0${content.length}\0`).update(content);
  return `${hash.digest("hex")}\n`;
}

function quoted(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}
