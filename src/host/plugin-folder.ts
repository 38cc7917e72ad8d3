import { chmod, cp, mkdir, readFile, rename, rm, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";

const parts = [".claude-plugin", "commands", "hooks", "skills"];

/**
 * Makes the plugin as a folder of its own, which Claude Code can copy as it does: without packages, and with a `bin/swarm` that
 * leads to this installation. Whoever reads an older one meanwhile has it whole.
 */
export async function writePluginFolder(packageRoot: string, target: string): Promise<void> {
  const fresh = `${target}.${process.pid}.new`;
  await mkdir(dirname(target), { recursive: true, mode: 0o700 });
  await rm(fresh, { recursive: true, force: true });
  for (const part of parts) await cp(join(packageRoot, part), join(fresh, part), { recursive: true });
  await mkdir(join(fresh, "bin"));
  const program = join(packageRoot, "bin", "swarm");
  await writeFile(
    join(fresh, "bin", "swarm"),
    `#!/bin/sh\n# The swarm that this plugin was installed by.\nexec ${quoted(program)} "$@"\n`,
  );
  await chmod(join(fresh, "bin", "swarm"), 0o755);
  await rm(target, { recursive: true, force: true });
  await rename(fresh, target);
}

/** The version that a plugin's manifest names. */
export async function pluginVersion(folder: string): Promise<string> {
  const { version } = JSON.parse(await readFile(join(folder, ".claude-plugin", "plugin.json"), "utf8"));
  return String(version);
}

function quoted(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}
