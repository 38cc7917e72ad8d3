import { readFile } from "node:fs/promises";
import { join } from "node:path";

const hookName = "auto-approve-cli.sh";

/** The Claude Code settings file that runs our hook; null when none does. */
export async function findInstalledHook(home: string, root: string | null): Promise<string | null> {
  const folders = root === null ? [home] : [home, root];
  const files = folders.flatMap((folder) =>
    ["settings.json", "settings.local.json"].map((name) => join(folder, ".claude", name)),
  );
  for (const file of files) {
    const text = await readFile(file, "utf8").catch(() => "");
    if (text.includes(hookName)) return file;
  }
  return null;
}
