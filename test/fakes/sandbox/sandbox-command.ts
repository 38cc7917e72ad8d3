import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, inject } from "vitest";
import type { SandboxRecord } from "../../../src/contract/sandbox-run.ts";
import { type Finished, swarm } from "../cli/swarm-command.ts";
import { write } from "../git/repository.ts";

/** Something that must never be seen inside a sandbox. */
export const canary = "canary-of-the-host-0123456789";

let used: string[] = [];

/** The environment of a command on the engine of the tests. */
function sandboxEnv(home: string): Record<string, string> {
  return {
    HOME: home,
    SWARM_STATE_DIR: inject("stateFolder"),
    DOCKER_HOST: inject("endpoint"),
    HOST_SECRET: canary,
  };
}

/** Where and how a command is started that a test wants to have in its own hands. */
export function placeOf(folder: string): { readonly cwd: string; readonly env: NodeJS.ProcessEnv } {
  used.push(folder);
  return { cwd: folder, env: { ...process.env, ...sandboxEnv(folder) } };
}

/** `swarm sandbox …` in a folder of its own. */
export function sandbox(folder: string, ...words: string[]): Promise<Finished> {
  used.push(folder);
  return swarm({ folder, env: sandboxEnv(folder) }, "sandbox", ...words);
}

export async function listed(folder: string): Promise<SandboxRecord[]> {
  return JSON.parse((await sandbox(folder, "ls", "--all", "--json")).stdout);
}

export async function up(folder: string, spec: string, ...words: string[]): Promise<SandboxRecord> {
  write(folder, "sandbox.yaml", spec);
  const { stdout, stderr, exit } = await sandbox(folder, "up", "--json", ...words);
  expect(exit, stderr).toBe(0);
  return JSON.parse(stdout);
}

export function outputsOf(folder: string, { id }: SandboxRecord, file: string): string {
  return readFileSync(join(folder, ".aimi", "sandboxes", id, "outputs", file), "utf8");
}

/** Takes away what the tests of a file have made. */
export async function destroyUsed(): Promise<void> {
  for (const folder of new Set(used)) {
    if (existsSync(folder))
      await swarm({ folder, env: sandboxEnv(folder) }, "sandbox", "destroy", "--all", "--purge");
  }
  used = [];
}
