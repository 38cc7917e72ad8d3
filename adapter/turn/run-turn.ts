import { addAbortListener } from "node:events";
import type { Agent, AgentActivity, AgentTurn, TurnEnd, TurnSandbox, TurnUsage } from "../agents/agent.ts";
import { agentCrash, createTurnFailure } from "../agents/turn-failure.ts";
import {
  findAgentProcesses,
  killAgentProcesses,
  runProgramAsAgentUser,
  terminateAgentProcesses,
} from "../machine/agent-user.ts";
import { countOomKills } from "../machine/oom-kills.ts";
import type { PauseAwareClock } from "../machine/pause-aware-clock.ts";
import type { ProcessWatch } from "../machine/process-watch.ts";
import { requireExitCode } from "../machine/program-end.ts";
import { runPeriodically } from "../machine/run-periodically.ts";
import type { SandboxPaths } from "../machine/sandbox-paths.ts";
import { startAgentProgram } from "./agent-program.ts";
import { openAgentTranscript } from "./agent-transcript.ts";
import { type IdleLimits, IdlenessDetector } from "./idleness-detector.ts";

/** The sandbox, in which the clock knows of pauses and the number of processes is watched. */
export interface WatchedSandbox {
  readonly paths: SandboxPaths;
  readonly clock: PauseAwareClock;
  readonly processes: ProcessWatch;
}

export interface TurnDeps {
  readonly sandbox: WatchedSandbox;
  readonly agent: Agent;
  /** Returns all environment variables for the agent's programs. */
  readonly env: () => Readonly<Record<string, string>>;
  readonly conversation: TurnSandbox["conversation"];
  readonly limits: IdleLimits;
  /** Returns the time, in milliseconds, that the agent has to stop by itself before the adapter kills it. */
  readonly graceMs: () => number;
  readonly report: (activity: AgentActivity) => void;
  readonly reportUsage: (usage: TurnUsage) => void;
  /** Called with the turn's idleness detector when the turn starts, and with null when the turn ends. */
  readonly onIdleness: (idleness: IdlenessDetector | null) => void;
}

/** How a turn ended: by itself, or because the adapter interrupted it. */
export type SupervisedTurnEnd = TurnEnd | { readonly kind: "interrupted" };

const askOutputBytes = 200_000;

/**
 * Runs one turn of an agent. Kills the agent if it hangs, stops it when `signal` aborts, and leaves no
 * process of the agent's Linux user behind.
 */
export async function runTurn(
  deps: TurnDeps,
  turn: AgentTurn,
  signal: AbortSignal,
): Promise<SupervisedTurnEnd> {
  const { limits } = deps;
  const { paths, clock, processes } = deps.sandbox;
  const idleness = new IdlenessDetector(clock);
  const stalled = new AbortController();
  const memoryKills = await countOomKills();
  using transcript = openAgentTranscript(paths, turn.storyId);
  await using stack = new AsyncDisposableStack();
  stack.defer(killAgentProcesses);
  const span = stack.use(await processes.begin());
  const stop = AbortSignal.any([signal, stalled.signal, span.limitReached]);
  deps.onIdleness(idleness);
  stack.defer(() => deps.onIdleness(null));

  const tools = toolsFor(deps, idleness, (bytes) => transcript.add(bytes));
  stack.defer(
    runPeriodically(Math.min(5_000, Math.max(100, limits.idleMs / 4)), async () => {
      // Ignores a failed check: the next interval checks again.
      const why = await findStallReason(idleness, limits).catch(() => null);
      if (why !== null) stalled.abort(why);
    }),
  );
  stack.use(killAfterGrace(clock, stop, deps.graceMs));

  const end = await deps.agent
    .runTurn(turn, tools, stop)
    .catch((error: unknown) => agentCrash(error instanceof Error ? error.message : String(error)));
  if (signal.aborted) return { kind: "interrupted" };
  if (span.limitReached.aborted)
    return createTurnFailure(
      "PROCESSES_EXHAUSTED",
      "story",
      `${span.limitReached.reason}, and the agent's processes were killed`,
    );
  if (stalled.signal.aborted)
    return createTurnFailure("AGENT_STALLED", "story", String(stalled.signal.reason));
  if (end.kind !== "failed") return end;
  if ((await countOomKills()) > memoryKills)
    return createTurnFailure(
      "CONTAINER_OOM",
      "story",
      `the sandbox ran out of memory, and the kernel killed one of the sandbox's processes; ${end.message}`,
    );
  const why = await span.whyRefused();
  return why === null ? end : createTurnFailure("PROCESSES_EXHAUSTED", "story", `${why}; ${end.message}`);
}

/**
 * Ends all processes of the agent's Linux user after `stop` aborts: with SIGTERM after half of the grace
 * period, and with SIGKILL at its end. Sends no signal after disposal of the returned object.
 */
function killAfterGrace(clock: PauseAwareClock, stop: AbortSignal, graceMs: () => number): AsyncDisposable {
  let ending = Promise.resolve();
  const waits = new DisposableStack();
  const after = (ms: number, act: () => void): void => {
    waits.use(addAbortListener(waits.use(clock.after(ms)).signal, act));
  };
  const listener = addAbortListener(stop, () => {
    // The agent itself got the request to stop at once; SIGTERM reaches the programs that the agent started.
    after(graceMs() / 2, () => void terminateAgentProcesses().catch(() => {}));
    after(graceMs(), () => {
      ending = killAgentProcesses();
      ending.catch(() => {});
    });
  });
  return {
    async [Symbol.asyncDispose]() {
      listener[Symbol.dispose]();
      waits.dispose();
      await ending;
    },
  };
}

async function findStallReason(idleness: IdlenessDetector, limits: IdleLimits): Promise<string | null> {
  idleness.noteProcesses(await findAgentProcesses());
  return idleness.verdict(limits);
}

function toolsFor(
  { sandbox, env, conversation, report, reportUsage }: TurnDeps,
  idleness: IdlenessDetector,
  record: (bytes: Uint8Array) => void,
): TurnSandbox {
  const folder = sandbox.paths.workspace;
  return {
    conversation,
    get env() {
      return env();
    },
    start: (command, more = {}) =>
      startAgentProgram(
        { command, env: { ...env(), ...more }, folder },
        {
          killAll: killAgentProcesses,
          onBytes: (bytes) => {
            idleness.noteOutput();
            record(bytes);
          },
        },
      ),
    async runCommand(command) {
      const result = await runProgramAsAgentUser({
        command,
        env: env(),
        folder,
        maxOutputLength: askOutputBytes,
      });
      return { code: requireExitCode(command[0] ?? "", result), output: result.stdout };
    },
    report(activity) {
      if (activity.tool) idleness.noteTool(activity.tool);
      report(activity);
    },
    reportUsage,
  };
}
