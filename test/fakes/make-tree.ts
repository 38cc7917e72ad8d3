import { execFileSync } from "node:child_process";
import { randomBytes } from "node:crypto";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";

const treeBytes: number = 50 * 1024 * 1024;

/** What compresses like code, in a thousand files. */
export function makeTree(repository: string): void {
  const files = 1_000;
  mkdirSync(join(repository, "src"), { recursive: true });
  for (let index = 0; index < files; index += 1) {
    const line = `${randomBytes(24).toString("hex")} export const value = ${index};\n`;
    writeFileSync(
      join(repository, "src", `${index}.txt`),
      line.repeat(Math.ceil(treeBytes / files / line.length)),
    );
  }
  const git = (...args: string[]): void => void execFileSync("git", args, { cwd: repository });
  git("init", "--quiet", "--initial-branch=main");
  git("add", "--all");
  git("-c", "user.name=Bench", "-c", "user.email=bench@example.invalid", "commit", "--quiet", "-m", "Begin");
}
