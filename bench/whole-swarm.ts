import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { cpSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { makeTree } from "../test/fakes/make-tree.ts";
import { watchProcess } from "../test/fakes/watch-process.ts";
import { type Bench, nothing, refuse } from "./bench.ts";
import { program } from "./command-start.ts";
import type { Comparison } from "./compare.ts";
import { specFor } from "./containers.ts";

const [workers, stories, together] = [32, 3, 4];
const [mostMemory, mostShare] = [200 * 1024 ** 2, 0.15];
const storyIds = ["US-001", "US-002", "US-003"];

interface Ran {
  readonly ms: number;
  /** Of the owner's process, without git. */
  readonly memoryBytes: number;
  readonly cpuShare: number;
}

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
    writeTasks(ours);
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
        name: `${workers} workers of ${stories} stories on a 50 MB tree, per hour`,
        ...{ against: `a shell loop over docker run, ${together} at a time`, goal: { sign: "≥", ratio: 2 } },
        note: "swarm start with scripted agents: journals, checks, quarantine; theirs clones from a mount, commits, and copies the tree back; the same commits in both",
        fewestRounds: 1,
        async ours() {
          const run = await carryOut(ours, ownEnv);
          ran.push(run);
          refuseOther(ours, (worker) => `feat/worker${worker}`);
          return 3_600_000 / run.ms;
        },
        async theirs() {
          round += 1;
          const started = performance.now();
          await shellLoop(theirs, { endpoint, folder: join(folder, `out-${round}`), image: specFor().image });
          const ms = performance.now() - started;
          refuseOther(theirs, (worker) => `work/${worker}`);
          return 3_600_000 / ms;
        },
      },
      {
        name: "memory of the owner of this swarm",
        ...{ against: "200 MB", goal: { sign: "≤", ratio: 1 }, fewestRounds: 1 },
        note: "most resident memory of its process",
        ours: async () => Math.max(...ran.map(({ memoryBytes }) => memoryBytes)),
        theirs: async () => mostMemory,
      },
      {
        name: "processor time of the owner of this swarm",
        ...{ against: "15 % of one core", goal: { sign: "≤", ratio: 1 }, fewestRounds: 1 },
        note: "user and system, without git; stories that take no time, so that it has the most to do",
        bound: "starting git and what each worker costs, close together where stories take no time",
        ours: async () => Math.max(...ran.map(({ cpuShare }) => cpuShare)),
        theirs: async () => mostShare,
      },
    ];
    return { comparisons };
  },
};

function writeTasks(repository: string): void {
  const at = (...parts: string[]): string => join(repository, ".aimi", ...parts);
  mkdirSync(at("tasks"), { recursive: true });
  for (let worker = 1; worker <= workers; worker += 1) {
    const name = `worker${worker}`;
    const act = (id: string) => [{ write: { path: `${name}-${id}.txt`, content: `${id}\n` } }];
    writeFileSync(
      at(`${name}.json`),
      JSON.stringify(Object.fromEntries(storyIds.map((id) => [id, act(id)]))),
    );
    const metadata = {
      title: name,
      branchName: `feat/${name}`,
      agent: { kind: "script", script: `${name}.json` },
    };
    const userStories = storyIds.map((id, index) => ({
      ...{ id, title: `Do ${id}`, description: id, acceptanceCriteria: [], priority: index },
      ...(index > 0 && { dependsOn: [storyIds[index - 1]] }),
    }));
    writeFileSync(
      at("tasks", `2026-01-02-${name}-tasks.json`),
      JSON.stringify({ schemaVersion: "3.3", metadata, userStories }),
    );
  }
}

/** Again from nothing: the branches of an earlier round go first. */
async function carryOut(repository: string, env: NodeJS.ProcessEnv): Promise<Ran> {
  for (let worker = 1; worker <= workers; worker += 1)
    execFileSync("sh", ["-c", `git branch -qD feat/worker${worker} 2>/dev/null; :`], { cwd: repository });
  const started = performance.now();
  const words = ["start", "--all", "--again", "--force", "--parallel", String(together), "--json"];
  const child = spawn(program, words, { cwd: repository, env, stdio: ["ignore", "ignore", "pipe"] });
  const said = child.stderr.toArray();
  const seen = watchProcess(child.pid ?? 0);
  const [exit] = await once(child, "exit");
  const ms = performance.now() - started;
  refuse(
    exit !== 0,
    `swarm start ended ${exit}: ${Buffer.concat(await said)
      .toString()
      .slice(-500)}`,
  );
  const { memoryBytes, cpuSeconds } = seen();
  return { ms, memoryBytes, cpuShare: cpuSeconds / (ms / 1_000) };
}

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
  const child = spawn("sh", ["-c", `seq ${workers} | xargs -P ${together} -n 1 sh "$1"`, "sh", script], {
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

/** Every branch has its three commits, and each its file. */
function refuseOther(repository: string, branchOf: (worker: number) => string): void {
  const git = (...words: string[]): string =>
    execFileSync("git", words, { cwd: repository, encoding: "utf8" });
  for (let worker = 1; worker <= workers; worker += 1) {
    const commits = git("rev-list", "--count", `main..${branchOf(worker)}`).trim();
    const files = git("diff", "--name-only", "main", branchOf(worker)).trim().split("\n").sort();
    const expected = storyIds.map((id) => `worker${worker}-${id}.txt`);
    refuse(
      commits !== "3" || files.join() !== expected.join(),
      `${branchOf(worker)} has other work: ${files.join()}`,
    );
  }
}
