import { execFileSync } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { execa } from "execa";
import { type Bench, type BenchContext, nothing } from "./bench.ts";
import { program } from "./command-start.ts";
import type { Comparison } from "./compare.ts";
import { crowdEngine } from "./crowd-engine.ts";
import { crowdWork } from "./crowd-work.ts";
import type { CrowdPace } from "./crowd-worker.ts";
import { branchOf, carryOut, maxMemory, maxShare, type Ran, refuseOther, writeTasks } from "./swarm-runs.ts";

const crowd = 100;
const real = 16;
/** An agent is seldom so quick with a story; an adapter tells of its activity once a second at the most, and not while a model is waited for. */
const pace: CrowdPace = { storyMs: 60_000, messageMs: 2_000 };
/** What one of fewer workers costs, who say as much, needs less time to be seen. */
const quickPace: CrowdPace = { storyMs: 3_000, messageMs: 100 };
const realMs = 10_000;

/** The owner of many workers that are all at work at once. */
export const manyWorkers: Bench = {
  title: "The owner of many workers at once",
  async prepare(context) {
    const { engine, isShort } = context;
    if (engine === null || isShort) return nothing;
    const { endpoint } = await engine.info();
    const once = onceEach(async (workers: number, kind: "crowd" | "real") =>
      kind === "crowd" ? ranByCrowd(context, endpoint, workers) : ranReally(context, endpoint, workers),
    );
    const bound =
      "starting git some seven times for each commit that comes in, from a process whose memory is mapped anew each time; half of it in the seconds in which all end at once";
    const figures = (workers: number, kind: "crowd" | "real", words: string): Comparison[] => [
      {
        name: `memory of the owner of ${workers} workers`,
        ...{ against: "200 MB", goal: { sign: "≤", ratio: 1 }, fewestRounds: 1 },
        note: `most resident memory of its process; ${words}`,
        ours: async () => (await once(workers, kind)).memoryBytes,
        theirs: async () => maxMemory,
      },
      {
        name: `processor time of the owner of ${workers} workers`,
        ...{ against: "15 % of one core", goal: { sign: "≤", ratio: 1 }, fewestRounds: 1 },
        note: `user and system, without git; ${words}`,
        bound,
        ours: async () => (await once(workers, kind)).cpuShare,
        theirs: async () => maxShare,
      },
    ];
    const said = (ms: number): string => `three stories of ${ms / 1_000} s each, all at once`;
    return {
      comparisons: [
        ...figures(
          crowd,
          "crowd",
          `${said(pace.storyMs)}, a message every two seconds from each, at a real socket of an engine of the bench's own`,
        ),
        ...figures(real, "real", `${said(realMs)}, in real containers`),
      ],
      async growth() {
        const memory: [number, number][] = [];
        const seconds: [number, number][] = [];
        for (const workers of [1, 10, crowd]) {
          const { memoryBytes, cpuShare, ms } = await once(workers, "crowd");
          memory.push([workers, memoryBytes / 1024 ** 2]);
          seconds.push([workers, (cpuShare * ms) / workers]);
        }
        return [
          {
            name: "memory of the owner of N workers at once",
            unit: "MB",
            series: [{ name: "swarm", points: memory }],
          },
          {
            name: "processor time of the owner of N workers, its own beginning included",
            unit: "ms for each worker of three stories",
            series: [{ name: "swarm", points: seconds }],
          },
        ];
      },
    };
  },
};

/** Each run costs a minute, and has several figures. */
function onceEach(run: (workers: number, kind: "crowd" | "real") => Promise<Ran>): typeof run {
  const known = new Map<string, Promise<Ran>>();
  return (workers, kind) => {
    const key = `${workers} ${kind}`;
    const ran = known.get(key) ?? run(workers, kind);
    known.set(key, ran);
    return ran;
  };
}

async function ranByCrowd(context: BenchContext, endpoint: string, workers: number): Promise<Ran> {
  const { folder } = context;
  const repository = smallRepository(folder, `crowd-${workers}`);
  writeTasks(repository, workers, (path, id) => [{ write: { path, content: `${id}\n` } }]);
  const own = join(folder, `crowd-${workers}-work`);
  mkdirSync(own);
  await using proxy = await crowdEngine({
    ...{ endpoint, socket: join(folder, `crowd-${workers}.sock`) },
    pace: workers === crowd ? pace : quickPace,
    work: crowdWork(repository, workers, own),
  });
  const env = { ...context.env, DOCKER_HOST: proxy.endpoint };
  const ran = await carryOut(repository, { env, workers, together: workers });
  refuseOther(repository, workers, branchOf);
  await cleanUp(repository, env);
  return ran;
}

async function ranReally({ folder, env }: BenchContext, endpoint: string, workers: number): Promise<Ran> {
  const repository = smallRepository(folder, `real-${workers}`);
  writeTasks(repository, workers, (path, id) => [
    { run: ["sleep", String(realMs / 1_000)] },
    { write: { path, content: `${id}\n` } },
  ]);
  const own = { ...env, DOCKER_HOST: endpoint };
  const ran = await carryOut(repository, { env: own, workers, together: workers });
  refuseOther(repository, workers, branchOf);
  await cleanUp(repository, own);
  return ran;
}

function smallRepository(folder: string, name: string): string {
  const repository = join(folder, name);
  mkdirSync(repository);
  writeFileSync(join(repository, "README.md"), "A small one.\n");
  const git = (...words: string[]): void => void execFileSync("git", words, { cwd: repository });
  git("init", "--quiet", "--initial-branch=main");
  git("add", "--all");
  git("-c", "user.name=Bench", "-c", "user.email=bench@example.invalid", "commit", "--quiet", "-m", "Begin");
  return repository;
}

/** Not while this process stands still: the engine may be one of its own. */
async function cleanUp(repository: string, env: NodeJS.ProcessEnv): Promise<void> {
  await execa(program, ["cleanup", "--everything", "--yes"], { cwd: repository, env, stdio: "ignore" });
}
