/** How often the costly tests do their thing: reduced for `npm test`, full for `npm run test:full`. 0 leaves one out. */
const table = {
  updateProcesses: { reduced: 16, full: 64 },
  updatesPerProcess: { reduced: 50, full: 100 },
  chaosMs: { reduced: 8_000, full: 60_000 },
  controlChaosMs: { reduced: 6_000, full: 60_000 },
  /** Kills, and stops, that hit a process while it holds the portable lock; and the updates that are acknowledged meanwhile. */
  holderHits: { reduced: 5, full: 30 },
  updatesUnderHits: { reduced: 150, full: 2_000 },
  staleMs: { reduced: 500, full: 2_000 },
  /** From the kill of a holder to the next writer, with the usual waits; a busy machine may take all that a writer waits. */
  nextWriterMs: { reduced: 15_000, full: 12_000 },
  /** Of the steps at which two writers are stopped, every so manieth. */
  stopEvery: { reduced: 3, full: 1 },
  killedWrites: { reduced: 40, full: 1_000 },
  /** Of the system calls of a preparation: after so many it is killed, spread over all of them. */
  killedPreparations: { reduced: 12, full: 1_000 },
  preparationKills: { reduced: 6, full: 100 },
  preparationKillsGvisor: { reduced: 1, full: 20 },
  branchNames: { reduced: 400, full: 4_000 },
  graphRuns: { reduced: 200, full: 2_000 },
  hostileStreams: { reduced: 2_000, full: 20_000 },
  endlessLineBytes: { reduced: 300_000_000, full: 1_073_741_824 },
  hostileRequests: { reduced: 2_000, full: 20_000 },
  /** Of runc and gVisor: how many the costly tests of the adapter, of bombs and of many files run under. */
  runtimes: { reduced: 1, full: 2 },
  /** Kinds of processes of a worker that are killed; fork bombs of a story, of its agent and of its check. */
  killedProcesses: { reduced: 5, full: 9 },
  forkBombs: { reduced: 1, full: 2 },
  /** Bombs of workers and of sandboxes in the swarm of bombs. Other engine tests set off the same kinds one by one. */
  workerBombs: { reduced: 6, full: 20 },
  sandboxBombs: { reduced: 1, full: 20 },
  /** Package managers of JavaScript with one lockfile version, and versions of Yarn. */
  packageManagers: { reduced: 2, full: 20 },
  yarns: { reduced: 1, full: 20 },
  /** Moments at which the supervisor is killed. */
  supervisorKills: { reduced: 2, full: 5 },
  /** Moments and ways to stop a worker that is prepared. */
  preparationStops: { reduced: 2, full: 6 },
  /** Ways to halt a swarm whose workers are prepared. */
  halts: { reduced: 1, full: 3 },
  /** Signals that end the engine below a swarm. */
  engineEnds: { reduced: 1, full: 2 },
  /** Points at which an owner that proves results is killed, and a merge. */
  proofKills: { reduced: 1, full: 3 },
  mergeKills: { reduced: 2, full: 5 },
  messages: { reduced: 60_000, full: 300_000 },
  floodBytes: { reduced: 300_000_000, full: 1_000_000_000 },
  /** Points at which an owner is killed in a swarm of its own, beside all of them in one. */
  lonelyKills: { reduced: 1, full: 20 },
  /** Workers of one swarm whose owner is measured. */
  manyWorkers: { reduced: 4, full: 32 },
  /** Kills at any time in one swarm of eight workers. */
  randomKills: { reduced: 3, full: 20 },
  /** Workers that share one budget. */
  budgetWorkers: { reduced: 4, full: 8 },
  gatewayKills: { reduced: 2, full: 10 },
  cutStories: { reduced: 2, full: 20 },
  /** Of some 1 500 command lines that only look like ours. */
  hookMutations: { reduced: 150, full: 2_000 },
  /** Pairs of trees that are compared by the reader and by git. */
  generatedTrees: { reduced: 400, full: 20_000 },
  /** Files that one task leaves in one folder. */
  outputFiles: { reduced: 12_000, full: 120_000 },
  /** Workers that are stopped while they are prepared, and files of their repository. */
  haltedWorkers: { reduced: 3, full: 7 },
  preparedFiles: { reduced: 2_000, full: 20_000 },
  /** Files that a story leaves, how many of them a task may commit, and bytes of one that is no hole. */
  leftFiles: { reduced: 5_000, full: 1_000_000 },
  workFiles: { reduced: 1_000, full: 100_000 },
  leftBytes: { reduced: 40_000_000, full: 1_500_000_000 },
  workFileBytes: { reduced: 10_000_000, full: 524_288_000 },
  /** Of pause and unpause, beside three processes that begin programs. */
  pauseRounds: { reduced: 20, full: 400 },
  unreadMessages: { reduced: 60_000, full: 100_000 },
  /** Files that a bomb leaves in the work folder. */
  bombFiles: { reduced: 60_000, full: 1_000_000 },
  /** Files below 47 000 bytes of names. */
  bombLongNames: { reduced: 2_000, full: 20_000 },
  /** Trees of a thousand files each. */
  bombTrees: { reduced: 110, full: 600 },
  /** How long fifty and a hundred programs of one worker compute at once. */
  busySeconds: { reduced: 1, full: 5 },
  /** How long one of them may take: a million files are counted for more than a minute. */
  bombSeconds: { reduced: 90, full: 1_200 },
  /** How long a swarm of bombs may take until its owner is killed; those that are defused need a fraction of it. */
  bombedMs: { reduced: 240_000, full: 3_000_000 },
} as const;

export type CountName = keyof typeof table;

/** Every count for one kind of run. */
export function counts(full: boolean): Readonly<Record<CountName, number>> {
  return Object.fromEntries(
    Object.entries(table).map(([name, count]) => [name, full ? count.full : count.reduced]),
  ) as Record<CountName, number>;
}

/** Whether this is the full run, which alone carries out what mostly waits. */
export const isFull: boolean = process.env["SWARM_TEST_COUNTS"] === "full";

/** The counts of this run. */
export const count: Readonly<Record<CountName, number>> = counts(isFull);
