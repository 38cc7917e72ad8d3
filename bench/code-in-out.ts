import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import type { Containers } from "../src/engine/containers.ts";
import { createCommitReader } from "../src/git/commit-reader.ts";
import { workRepository } from "../src/git/work-repository.ts";
import { ensureProjectImage } from "../src/images/build-project-image.ts";
import { ensureBaseImage } from "../src/images/ensure-base-image.ts";
import { makeTree } from "../test/fakes/git/make-tree.ts";
import { type Bench, nothing, refuse, timed } from "./bench.ts";
import { buildReport, imageLock, sources } from "./bench-engine.ts";
import type { Comparison } from "./compare.ts";
import { specFor } from "./containers.ts";
import type { Docker } from "./peers.ts";

const together = 4;

/** How a repository comes into a started container. */
interface Way {
  readonly image: string;
  readonly bring: (id: string) => Promise<void>;
}

/** A repository's way into sandboxes, and the work's way out of them. */
export const code: Bench = {
  title: "Code in, work out",
  async prepare({ engine, docker, folder, undo, isShort, absent }) {
    if (engine === null || isShort) return nothing;
    const repository = join(folder, "repository");
    makeTree(repository);
    const base = await ensureBaseImage(
      { engine, sources, lock: imageLock },
      { agents: [], fresh: false },
      buildReport,
    );
    const project = { id: `bench-${process.pid}`, slug: "bench", commits: createCommitReader(repository) };
    const { tag } = await ensureProjectImage(
      { engine, sources, lock: imageLock, project },
      { base, options: { ignoreScripts: false, buildNetwork: true }, fresh: false },
      buildReport,
    );
    const { containers, images } = await engine.open();
    undo.defer(async () => void (await images.remove(tag)));
    const bundle = join(folder, "repository.bundle");
    execFileSync("git", ["bundle", "create", "--quiet", bundle, "HEAD", "main"], { cwd: repository });
    // What was just built would still be on its way to the disk.
    execFileSync("sync");

    const removeAll = (ids: readonly string[]) => Promise.all(ids.map((id) => containers.remove(id)));
    const inImage: Way = {
      image: tag,
      async bring(id) {
        await say(containers, id, ["git", "-C", "/workspace", "checkout", "-q", "-b", "work"]);
      },
    };
    /** A clone in each container, of what was copied into it. */
    const byClone: Way = {
      image: specFor().image,
      async bring(id) {
        await say(containers, id, ["sh", "-c", "cat >/work/r.bundle"], readFileSync(bundle));
        await say(containers, id, ["git", "clone", "-q", "/work/r.bundle", "/work/clone"]);
      },
    };
    const startAll = ({ image, bring }: Way): Promise<string[]> =>
      Promise.all(
        Array.from({ length: together }, async () => {
          const id = await started(containers, image);
          await bring(id);
          return id;
        }),
      );
    const disks = new Map<Way, number>();
    const rateOf = async (way: Way): Promise<number> => {
      let ids: string[] = [];
      const ms = await timed(async () => {
        ids = await startAll(way);
      });
      const facts = await Promise.all(ids.map((id) => containers.inspect(id, { withDisk: true })));
      disks.set(
        way,
        facts.reduce((sum, found) => sum + (found?.diskBytes ?? 0), 0),
      );
      await removeAll(ids);
      return 1_000 / ms;
    };
    /** As the last round of the one before found it. */
    const diskOf = async (way: Way): Promise<number> => disks.get(way) ?? Number.NaN;
    const against = "a clone in each container";
    const comparisons: Comparison[] = [
      {
        name: `${together} sandboxes at once with a 50 MB repository, per second`,
        ...{ against, goal: { sign: "≥", ratio: 5 }, fewestRounds: 3 },
        note: "from nothing to code on a branch, containers made and started in both; theirs clones from a bundle that is handed in",
        ours: () => rateOf(inImage),
        theirs: () => rateOf(byClone),
      },
      {
        name: `disk of ${together} sandboxes with a 50 MB repository`,
        ...{ against, goal: { sign: "≤", ratio: 0.02 }, fewestRounds: 1 },
        note: "bytes in the containers' own layers",
        ours: () => diskOf(inImage),
        theirs: () => diskOf(byClone),
      },
    ];
    if (docker === null) absent("docker cp and git fetch", "there is no docker command");
    else comparisons.push(await workOut({ containers, docker, tag, repository, folder, undo }));
    return { comparisons };
  },
};

/** A commit of a worker, from its container into the repository: by a checked bundle, and by copying the tree and fetching from it. */
async function workOut({
  containers,
  docker,
  tag,
  repository,
  folder,
  undo,
}: {
  readonly containers: Containers;
  readonly docker: Docker;
  readonly tag: string;
  readonly repository: string;
  readonly folder: string;
  readonly undo: AsyncDisposableStack;
}): Promise<Comparison> {
  const id = await started(containers, tag);
  undo.defer(() => containers.remove(id));
  const git = ["git", "-C", "/workspace", "-c", "user.name=Bench", "-c", "user.email=bench@example.invalid"];
  await say(containers, id, ["git", "-C", "/workspace", "checkout", "-q", "-b", "work"]);
  await say(containers, id, [
    "sh",
    "-c",
    'cd /workspace && echo changed >>"$(git ls-files src | head -n 1)" && echo new >new.txt',
  ]);
  await say(containers, id, [...git, "add", "--all"]);
  await say(containers, id, [...git, "commit", "-qm", "Work"]);
  const base = execFileSync("git", ["rev-parse", "HEAD"], { cwd: repository, encoding: "utf8" }).trim();
  const tip = (await say(containers, id, ["git", "-C", "/workspace", "rev-parse", "HEAD"])).toString().trim();
  const work = workRepository({ commonFolder: join(repository, ".git") });
  let round = 0;
  return {
    name: "a worker's commit into the repository, per second",
    ...{ against: "docker cp and git fetch", goal: { sign: "≥", ratio: 12 }, fewestRounds: 3 },
    note: "ours through quarantine, strict index-pack, connectivity and ancestry; theirs believes what it is given",
    async ours() {
      round += 1;
      const ms = await timed(async () => {
        const range = `${base}..work`;
        const bytes = await say(containers, id, [
          "git",
          "-C",
          "/workspace",
          "bundle",
          "create",
          "-q",
          "-",
          range,
        ]);
        const outcome = await work.importBundle({
          ...{
            keepRef: `refs/aimi/work/bench/${process.pid}-${round}`,
            tip,
            base,
            old: null,
            maxBytes: 1 << 28,
          },
          ...{ expectedRef: "refs/heads/work", sha256: createHash("sha256").update(bytes).digest("hex") },
          bundle: (async function* () {
            yield bytes;
          })(),
        });
        refuse(outcome.kind !== "taken", `it was ${JSON.stringify(outcome)}`);
      });
      return 1_000 / ms;
    },
    async theirs() {
      round += 1;
      const copy = join(folder, `copy-${round}`);
      const ms = await timed(async () => {
        await docker("cp", `${id}:/workspace`, copy);
        execFileSync("git", ["fetch", "--quiet", copy, `work:refs/heads/copied-${round}`], {
          cwd: repository,
        });
      });
      const got = execFileSync("git", ["rev-parse", `copied-${round}`], {
        cwd: repository,
        encoding: "utf8",
      });
      refuse(got.trim() !== tip, "another commit came");
      rmSync(copy, { recursive: true });
      return 1_000 / ms;
    },
  };
}

async function started(containers: Containers, image: string): Promise<string> {
  const { id } = await containers.create(specFor({ image, network: { kind: "none" } }));
  await containers.start(id);
  return id;
}

/** Runs a command to its end; what it printed. */
async function say(
  containers: Containers,
  id: string,
  command: readonly string[],
  input?: Uint8Array,
): Promise<Buffer> {
  await using execution = await containers.exec(id, {
    command,
    input: input !== undefined,
    user: "1000:1000",
  });
  if (input !== undefined) {
    await execution.write(input);
    await execution.endInput();
  }
  const pieces: Uint8Array[] = [];
  for await (const { bytes, stream } of execution.output) if (stream === "stdout") pieces.push(bytes);
  const exit = await execution.exit();
  refuse(exit.kind !== "exited" || exit.code !== 0, `${command.join(" ")} ended ${JSON.stringify(exit)}`);
  return Buffer.concat(pieces);
}
