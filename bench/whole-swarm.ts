import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { cpSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { makeTree } from "../test/fakes/git/make-tree.ts";
import { type Bench, nothing, refuse } from "./bench.ts";
import { program } from "./command-start.ts";
import type { Comparison } from "./compare.ts";
import { specFor } from "./containers.ts";
import { branchOf, carryOut, maxMemory, maxShare, type Ran, refuseOther, writeTasks } from "./swarm-runs.ts";

const [workers, stories, together] = [32, 3, 4];
/** The loop goes at one pace from its first to its last, and takes minutes for all. */
const looped = 16;

/** Everything at once: task files in, branches out. */
export const wholeSwarm: Bench = {
  title: `A swarm of ${workers} workers with ${stories} stories each`,
  async prepare({ engine, docker, folder, env, undo, isShort, absent }) {
    if (engine === null || isShort) return nothing;
    if (docker === null) {
      absent("a shell loop over docker run", "there is no docker command");
      return nothing;
    }
    const { endpoint } = await engine.info();
    const [ours, theirs] = [join(folder, "ours"), join(folder, "theirs")];
    makeTree(ours);
    cpSync(ours, theirs, { recursive: true });
    writeTasks(ours, workers, (path, id) => [{ write: { path, content: `${id}\n` } }]);
    const ownEnv = { ...env, DOCKER_HOST: endpoint };
    undo.defer(async () => {
      execFileSync(program, ["cleanup", "--everything", "--yes"], {
        cwd: ours,
        env: ownEnv,
        stdio: "ignore",
      });
    });
    const ran: Ran[] = [];
    let round = 0;
    const comparisons: Comparison[] = [
      {
        name: `${workers} workers of ${stories} stories on a 50 MB tree, workers per hour`,
        ...{ against: `a shell loop over docker run, ${together} at a time`, goal: { sign: "≥", ratio: 2 } },
        note: `swarm start with scripted agents: journals, checks, quarantine; theirs clones from a mount, commits, and copies the tree back, measured with ${looped} of them; the same commits in both`,
        fewestRounds: 1,
        async ours() {
          const run = await carryOut(ours, { env: ownEnv, workers, together });
          ran.push(run);
          refuseOther(ours, workers, branchOf);
          return (workers * 3_600_000) / run.ms;
        },
        async theirs() {
          round += 1;
          const started = performance.now();
          await shellLoop(theirs, { endpoint, folder: join(folder, `out-${round}`), image: specFor().image });
          const ms = performance.now() - started;
          refuseOther(theirs, looped, (worker) => `work/${worker}`);
          return (looped * 3_600_000) / ms;
        },
      },
      {
        name: "memory of the owner of this swarm",
        ...{ against: "200 MB", goal: { sign: "≤", ratio: 1 }, fewestRounds: 1 },
        note: "most resident memory of its process",
        ours: async () => Math.max(...ran.map(({ memoryBytes }) => memoryBytes)),
        theirs: async () => maxMemory,
      },
      {
        name: "processor time of the owner of this swarm",
        ...{ against: "15 % of one core", goal: { sign: "≤", ratio: 1 }, fewestRounds: 1 },
        note: "user and system, without git; stories that take no time, so that it has the most to do",
        bound: "starting git and what each worker costs, close together where stories take no time",
        ours: async () => Math.max(...ran.map(({ cpuShare }) => cpuShare)),
        theirs: async () => maxShare,
      },
    ];
    return { comparisons };
  },
};

const loop = `
set -eu
one() {
  n=$1
  c=aimi-bench-loop-$n-$$
  docker run --name "$c" --label org.aimi.test=bench --init --network none --user 1000:1000 --memory 512m \\
    -v "$REPOSITORY:/src:ro" "$IMAGE" sh -c '
    git config --global --add safe.directory "*"
    git clone -q /src /work/r && cd /work/r && git checkout -q -b "work/'"$n"'"
    for s in 1 2 3; do
      echo "US-00$s" >"worker'"$n"'-US-00$s.txt"
      git add -A
      git -c user.name=Bench -c user.email=bench@example.invalid commit -qm "Do US-00$s"
    done'
  docker cp -q "$c:/work/r" "$OUT/$n" 2>/dev/null || docker cp "$c:/work/r" "$OUT/$n" >/dev/null
  docker rm -f -v "$c" >/dev/null
  git -C "$REPOSITORY" fetch -q "$OUT/$n" "+work/$n:refs/heads/work/$n"
  rm -rf "$OUT/$n"
}
one "$1"
`;

/** As people script it. */
async function shellLoop(
  repository: string,
  { endpoint, folder, image }: { readonly endpoint: string; readonly folder: string; readonly image: string },
): Promise<void> {
  mkdirSync(folder);
  const script = join(folder, "one.sh");
  writeFileSync(script, loop);
  const child = spawn("sh", ["-c", `seq ${looped} | xargs -P ${together} -n 1 sh "$1"`, "sh", script], {
    stdio: ["ignore", "ignore", "pipe"],
    env: { ...process.env, DOCKER_HOST: endpoint, REPOSITORY: repository, IMAGE: image, OUT: folder },
  });
  const said = child.stderr.toArray();
  const [exit] = await once(child, "exit");
  refuse(
    exit !== 0,
    `the loop ended ${exit}: ${Buffer.concat(await said)
      .toString()
      .slice(-500)}`,
  );
}
