import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { inject } from "vitest";
import type { ContainerRecord, SwarmState } from "../../../src/contract/swarm-state.ts";
import { labels } from "../../../src/engine/engine.ts";
import { count } from "../../counts.ts";
import { type Finished, swarm } from "../cli/swarm-command.ts";
import { type Watched, watched } from "../cli/watch-command.ts";
import { dockerAt } from "../engine/engine-at.ts";
import type { Span } from "../engine/neighbour.ts";
import { writeTask } from "../folders.ts";
import { git, write } from "../git/repository.ts";
import type { SandboxBomb, WorkerBomb } from "../sandbox/bombs.ts";
import { taskFileWith } from "../tasks/task-files.ts";
import { clearEngine, leftOnEngine, type SwarmPlace, swarmEnv, swarmIn } from "./swarms.ts";

/** A repository that all tests of a world have in common; gone afterwards, with what workers left on the engine. */
export function openPlace(): SwarmPlace & AsyncDisposable {
  const folder = mkdtempSync(join(tmpdir(), "swarm-"));
  const place = { folder, repository: join(folder, "repository") };
  mkdirSync(place.repository);
  write(place.repository, "README.md", "# A sample\n");
  git(place.repository, "init", "--quiet", "--initial-branch=main");
  git(place.repository, "add", "--all");
  const as = ["-c", "user.name=Tester", "-c", "user.email=tester@example.invalid"];
  git(place.repository, ...as, "commit", "--quiet", "--message", "Begin");
  return {
    ...place,
    async [Symbol.asyncDispose]() {
      await clearEngine(place);
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** What came of one worker's bomb. */
export interface Burst {
  readonly end: { readonly status: string; readonly code: string | null; readonly message: string };
  readonly span: Span;
  readonly restarts: number;
  /** How far the owner's peak rose meanwhile. */
  readonly ownerBytes: number;
}

export interface BurstSwarm {
  readonly owner: Watched;
  readonly burstByName: ReadonlyMap<string, Burst>;
  /** What was on the engine before it was cleaned up, and after. */
  readonly leftBefore: readonly string[];
  readonly left: readonly string[];
  readonly cleanup: Finished;
}

/** Carries out one swarm of these workers, one after the other, so that each has the machine and its neighbour to itself. */
export async function setOffWorkers(
  place: SwarmPlace,
  bombs: readonly WorkerBomb[],
  { isolation, withinMs }: { readonly isolation: string; readonly withinMs: number },
): Promise<BurstSwarm> {
  bombs.forEach(({ name, agent }, index) => {
    // The newest comes first.
    const day = String(28 - index).padStart(2, "0");
    // Longer than any of them needs, and short enough that one which is never noticed ends, too.
    const metadata = { branchName: `feat/${name}`, agent, timeout: `${count.bombSeconds}s` };
    writeTask(place.repository, `2026-01-${day}-${name}-tasks.json`, taskFileWith({ metadata }));
  });
  const owner = await watched(
    place,
    { begins: "started", withinMs },
    ...["start", "--all", "--parallel", "1", "--isolation", isolation, "--json"],
  );
  const { stdout, stderr } = await swarmIn(place, "status", "--json");
  const { swarm: state } = JSON.parse(stdout) as { readonly swarm?: SwarmState };
  if (!state) throw new Error(`swarm status: ${stderr}; the owner: ${owner.exit} ${owner.stderr}`);
  const { containers } = state;
  const burstByName = new Map(
    bombs.map(({ name }) => [name, burstOf(place, { name, containers, owner })] as const),
  );
  const leftBefore = await leftOnEngine(place);
  const cleanup = await swarmIn(place, "cleanup", "--discard");
  return { owner, burstByName, leftBefore, cleanup, left: await leftOnEngine(place) };
}

function burstOf(
  { repository }: SwarmPlace,
  {
    name,
    containers,
    owner,
  }: { readonly name: string; readonly containers: readonly ContainerRecord[]; readonly owner: Watched },
): Burst {
  const record = containers.find(({ branchName }) => branchName === `feat/${name}`);
  if (!record) throw new Error(`There is no worker for ${name}`);
  const events = readFileSync(join(repository, ".aimi/events.ndjson"), "utf8")
    .trimEnd()
    .split("\n")
    .map(
      (line) => JSON.parse(line) as { readonly at: string; readonly event: string; readonly worker?: string },
    )
    .filter(({ worker }) => worker === name);
  const timeOf = (at: string | undefined): number | null => (at === undefined ? null : Date.parse(at));
  const isOver = events.some(({ event }) => event === "ended");
  const span = {
    from: timeOf(events.find(({ event }) => event === "started")?.at) ?? owner.span.to,
    to: (isOver ? timeOf(events.at(-1)?.at) : null) ?? owner.span.to,
  };
  return {
    end: { status: record.status, code: record.reason?.code ?? null, message: record.reason?.message ?? "" },
    span,
    restarts: events.filter(({ event }) => event === "restarted").length,
    ownerBytes: owner.peakBytes(span.to) - owner.peakBytes(span.from),
  };
}

/** What came of one sandbox's bomb. */
export interface BurstSandbox {
  readonly run: Watched;
  /** The same two commands before and after: whether they still work, and what they need. */
  readonly lists: readonly [before: Watched, after: Watched];
  readonly stats: Watched;
  /** What came out of `/outputs/kept.txt`. */
  readonly kept: string | null;
  readonly summaryBytes: number;
  readonly left: readonly string[];
}

/** Carries out one task in a sandbox of its own, looks after it, and destroys it. */
export async function setOffSandbox(
  place: SwarmPlace,
  { script }: SandboxBomb,
  { isolation, withinMs }: { readonly isolation: string; readonly withinMs: number },
): Promise<BurstSandbox> {
  const { repository } = place;
  write(repository, "sandbox.yaml", "runtime: python\n");
  write(repository, "bomb.py", script);
  const command = (...words: string[]): Promise<Watched> =>
    watched(place, { begins: "begun", withinMs }, "sandbox", ...words);
  const up = await swarm(
    { folder: repository, env: swarmEnv(place) },
    ...["sandbox", "up", "--json", "--isolation", isolation],
  );
  const { id } = JSON.parse(up.stdout) as { readonly id: string };
  const before = await command("ls");
  const run = await command("run", "bomb.py");
  const [after, stats] = [await command("ls"), await command("stats")];
  const outputs = join(repository, ".aimi/sandboxes", id, "outputs");
  const [keptFile, summaryFile] = [join(outputs, "kept.txt"), join(outputs, "summary.json")];
  const found = {
    kept: existsSync(keptFile) ? readFileSync(keptFile, "utf8") : null,
    summaryBytes: existsSync(summaryFile) ? statSync(summaryFile).size : 0,
  };
  await command("destroy", id, "--purge");
  return { run, lists: [before, after], stats, left: await sandboxesLeft(id), ...found };
}

async function sandboxesLeft(id: string): Promise<string[]> {
  const filters = { label: [`${labels.sandboxId}=${id}`] };
  const found = await dockerAt(inject("endpoint")).listContainers({ all: true, filters });
  return found.map(({ Names }) => `container ${Names[0]}`);
}
