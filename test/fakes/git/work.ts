import { createHash } from "node:crypto";
import { existsSync, lstatSync, readdirSync, readFileSync, readlinkSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, expect, vi } from "vitest";
import { workRepository } from "../../../src/git/work-repository.ts";
import type { BundleToImport, ImportResult, WorkRepository } from "../../../src/git/work-repository-port.ts";
import { bundleOf, commit, idOf, packOf, type RawObject, tree } from "./bundles.ts";
import { git, write } from "./repository.ts";

export const keep = "refs/aimi/swarm-1/login";

/** Says in whose name git commits in each test of a file. */
export function commitAsTester(): void {
  beforeEach(() => {
    for (const who of ["AUTHOR", "COMMITTER"]) {
      vi.stubEnv(`GIT_${who}_NAME`, "Tester");
      vi.stubEnv(`GIT_${who}_EMAIL`, "tester@example.invalid");
    }
  });
  afterEach(() => {
    vi.unstubAllEnvs();
  });
}

/** Takes bytes as work: `tip` is claimed, and so is everything else unless it is told. */
export function workOf(
  bytes: Buffer,
  facts: Pick<BundleToImport, "base" | "tip"> & Partial<Omit<BundleToImport, "bundle">>,
): BundleToImport {
  return {
    ...{ bundle: inPieces(bytes), sha256: createHash("sha256").update(bytes).digest("hex"), keepRef: keep },
    ...{ maxBytes: 16 * 1024 * 1024, expectedRef: "refs/heads/work", old: null, ...facts },
  };
}

async function* inPieces(bytes: Buffer): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < bytes.length; at += 1000) yield bytes.subarray(at, at + 1000);
}

/** What an agent has: a clone of its own, on a branch of its own. */
export function agentOf(repository: string, folder: string, name = "agent"): string {
  const agent = join(folder, name);
  git(folder, "clone", "--quiet", "--no-hardlinks", repository, agent);
  git(agent, "checkout", "--quiet", "-b", "work");
  return agent;
}

/** Commits files there. */
export function workIn(agent: string, files: Readonly<Record<string, string>>, message = "Work"): string {
  for (const [path, content] of Object.entries(files)) write(agent, path, content);
  git(agent, "add", "--all", "--force");
  git(agent, "commit", "--quiet", "--message", message);
  return git(agent, "rev-parse", "HEAD").trim();
}

/** As the adapter makes it. */
export function bundleFrom(agent: string, base: string, ref = "refs/heads/work"): Buffer {
  const file = join(agent, ".git", "made.bundle");
  git(agent, "bundle", "create", "--quiet", "--version=2", file, "--end-of-options", ref, `^${base}`);
  return readFileSync(file);
}

export interface HandMade {
  readonly bundle: Buffer;
  readonly tip: string;
}

/** One commit upon the base with a tree of these entries, packed as they are. */
export function handMade(
  base: string,
  entries: Parameters<typeof tree>,
  objects: readonly RawObject[] = [],
): HandMade {
  const root = tree(...entries);
  const made = commit(idOf(root), [base]);
  const tip = idOf(made);
  return { tip, bundle: bundleOf(headerOf(base, tip), packOf([...objects, root, made])) };
}

export function headerOf(base: string, tip: string): string {
  return `# v2 git bundle\n-${base} Begin\n${tip} refs/heads/work\n\n`;
}

/** Every file below a folder with what is in it, but for those that are left out. */
export function everythingIn(folder: string, leftOut: RegExp): Record<string, string> {
  const found: Record<string, string> = {};
  const look = (path: string): void => {
    for (const name of readdirSync(join(folder, path))) {
      const inner = path === "" ? name : `${path}/${name}`;
      if (leftOut.test(inner)) continue;
      const stats = lstatSync(join(folder, inner));
      if (stats.isDirectory()) look(inner);
      else if (stats.isSymbolicLink()) found[inner] = readlinkSync(join(folder, inner));
      else
        found[inner] = createHash("sha1")
          .update(readFileSync(join(folder, inner)))
          .digest("hex");
    }
  };
  if (existsSync(folder)) look("");
  return found;
}

export const head = (folder: string): string => git(folder, "rev-parse", "HEAD").trim();
export const at = (folder: string, ref: string): string | null =>
  git(folder, "for-each-ref", "--format=%(objectname)", ref).trim() || null;
export const repositoryAt = (folder: string): WorkRepository =>
  workRepository({ commonFolder: join(folder, ".git") });

/** Nothing of a quarantine is left, and no pack is kept from being tidied. */
export function expectTidy(repository: string): void {
  const quarantine = join(repository, ".git/aimi/quarantine");
  expect(existsSync(quarantine) ? readdirSync(quarantine) : []).toEqual([]);
  const packs = readdirSync(join(repository, ".git/objects/pack"));
  expect(packs.filter((name) => !/\.(?:pack|idx|rev)$/.test(name))).toEqual([]);
}

/** One more commit in an agent's clone, and all that is told of it. */
export function oneCommit(
  repository: string,
  folder: string,
  files: Readonly<Record<string, string>> = { "a.txt": "a\n" },
): { agent: string; base: string; tip: string; bytes: Buffer; work: () => BundleToImport } {
  const base = head(repository);
  const agent = agentOf(repository, folder);
  const tip = workIn(agent, files);
  const bytes = bundleFrom(agent, base);
  return { agent, base, tip, bytes, work: () => workOf(bytes, { base, tip }) };
}

/** Refused, and the repository has nothing of it: no object, no ref, no file. */
export async function refusal(repository: string, work: BundleToImport): Promise<string> {
  const before = everythingIn(repository, /^\.git\/aimi$/);
  const taken: ImportResult = await repositoryAt(repository).importBundle(work);
  expect(everythingIn(repository, /^\.git\/aimi$/)).toEqual(before);
  expectTidy(repository);
  return taken.kind === "refused" ? taken.why : taken.kind;
}
