import type { RequestedAgent } from "../../src/contract/acp.ts";
import { sanitizeText } from "../../src/text/sanitize-text.ts";
import type { Agent, AgentActivity, AgentTurn, TurnEnd, TurnSandbox, TurnUsage } from "../agents/agent.ts";
import {
  findAgentProcesses,
  killAgentProcesses,
  runProgramAsAgentUser,
  terminateAgentProcesses,
} from "../machine/agent-user.ts";
import { countOomKills } from "../machine/oom-kills.ts";
import type { PauseAwareClock } from "../machine/pause-aware-clock.ts";
import type { ProcessWatch } from "../machine/process-watch.ts";
import { ProgramResultUnknownError, requireExitCode } from "../machine/program-end.ts";
import type { SandboxPaths } from "../machine/sandbox-paths.ts";
import { startAgentProgram } from "./agent-program.ts";
import { openAgentTranscript } from "./agent-transcript.ts";
import { type IdleLimits, IdlenessDetector } from "./idleness-detector.ts";

export interface TurnDeps {
  readonly paths: SandboxPaths;
  readonly clock: PauseAwareClock;
  readonly processes: ProcessWatch;
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

/**
 * How a turn ended: by the agent (`TurnEnd`), because the sandbox ran out of memory or processes, or because
 * the adapter interrupted the turn.
 */
export type SupervisedTurnEnd =
  | TurnEnd
  | {
      readonly kind: "failed";
      readonly code: "CONTAINER_OOM" | "PROCESSES_EXHAUSTED";
      readonly message: string;
      readonly scope: "story";
    }
  | { readonly kind: "interrupted" };

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
  const { agent, clock, limits, paths } = deps;
  const idleness = new IdlenessDetector(clock);
  const stalled = new AbortController();
  const memoryKills = await countOomKills();
  using transcript = openAgentTranscript(paths, turn.storyId);
  await using stack = new AsyncDisposableStack();
  stack.defer(killAgentProcesses);
  const span = stack.use(await deps.processes.begin());
  const stop = AbortSignal.any([signal, stalled.signal, span.limitReached]);
  deps.onIdleness(idleness);
  stack.defer(() => deps.onIdleness(null));

  const tools = toolsFor(deps, idleness, (bytes) => transcript.add(bytes));
  const watching = setInterval(
    () =>
      void findStallReason(idleness, limits).then(
        (why) => why !== null && stalled.abort(why),
        // Ignores a failed check: the next interval checks again.
        () => {},
      ),
    Math.min(5_000, Math.max(100, limits.idleMs / 4)),
  );
  stack.defer(() => clearInterval(watching));
  stack.use(killAfterGrace(clock, stop, deps.graceMs));

  const end = await agent.runTurn(turn, tools, stop).catch(
    (error: unknown): TurnEnd => ({
      ...{ kind: "failed", code: "AGENT_CRASH", scope: "story" },
      message: error instanceof Error ? error.message : String(error),
    }),
  );
  if (signal.aborted) return { kind: "interrupted" };
  if (span.limitReached.aborted)
    return {
      ...{ kind: "failed", code: "PROCESSES_EXHAUSTED", scope: "story" },
      message: `${span.limitReached.reason}, and the agent's processes were killed`,
    };
  if (stalled.signal.aborted)
    return { kind: "failed", code: "AGENT_STALLED", scope: "story", message: String(stalled.signal.reason) };
  if (end.kind !== "failed") return end;
  if ((await countOomKills()) > memoryKills)
    return {
      ...{ kind: "failed", code: "CONTAINER_OOM", scope: "story" },
      message: `the sandbox ran out of memory, and the kernel killed one of the sandbox's processes; ${end.message}`,
    };
  const why = await span.whyRefused();
  if (why === null) return end;
  return {
    ...{ kind: "failed", code: "PROCESSES_EXHAUSTED", scope: "story" },
    message: `${why}; ${end.message}`,
  };
}

/**
 * Ends all processes of the agent's Linux user after `stop` aborts: with SIGTERM after half of the grace
 * period, and with SIGKILL at its end. Sends no signal after disposal of the returned object.
 */
function killAfterGrace(clock: PauseAwareClock, stop: AbortSignal, graceMs: () => number): AsyncDisposable {
  let ending = Promise.resolve();
  const waits = new DisposableStack();
  const begin = () => {
    const ask = () => void terminateAgentProcesses().catch(() => {});
    const end = () => {
      ending = killAgentProcesses();
      ending.catch(() => {});
    };
    // The agent itself got the request to stop at once; SIGTERM reaches the programs that the agent started.
    waits.use(clock.after(graceMs() / 2)).signal.addEventListener("abort", ask, { once: true });
    waits.use(clock.after(graceMs())).signal.addEventListener("abort", end, { once: true });
  };
  if (stop.aborted) begin();
  else stop.addEventListener("abort", begin, { once: true });
  return {
    async [Symbol.asyncDispose]() {
      stop.removeEventListener("abort", begin);
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
  { paths, env, conversation, report, reportUsage }: TurnDeps,
  idleness: IdlenessDetector,
  record: (bytes: Uint8Array) => void,
): TurnSandbox {
  const folder = paths.workspace;
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

/**
 * Returns whether the image contains the agent's program (`isThere`), and the version that the program
 * reports. `version` is null if the program reports none.
 */
export async function findAgentVersion(
  agent: Agent,
  requested: RequestedAgent,
  {
    paths,
    env,
    deadline,
  }: {
    readonly paths: SandboxPaths;
    readonly env: Readonly<Record<string, string>>;
    readonly deadline: AbortSignal;
  },
): Promise<{ readonly isThere: boolean; readonly version: string | null }> {
  const program = agent.program(requested);
  const look = { env, folder: paths.workspace, deadline };
  const found = await runProgramAsAgentUser({ ...look, command: ["sh", "-c", lookUp, "sh", program] });
  const words = requireExitCode(`the search for the program ${program}`, found) === 0 ? found.stdout : "";
  // Only the output `absent` proves that the image lacks the program, which no retry can change.
  if (words === absent) return { isThere: false, version: null };
  if (words !== present) throw new ProgramResultUnknownError(`the search for the program ${program}`, found);
  if (agent.versionFlags.length === 0) return { isThere: true, version: null };
  const asked = await runProgramAsAgentUser({
    ...look,
    command: [program, ...agent.versionFlags],
    maxOutputLength: 1_000,
  });
  await killAgentProcesses();
  const { end } = asked;
  if (end.kind === "halted")
    throw new ProgramResultUnknownError(`${program} ${agent.versionFlags.join(" ")}`, asked);
  const [line = ""] = asked.stdout.trim().split("\n");
  return { isThere: true, version: end.kind === "exited" && end.code === 0 ? sanitizeText(line, 200) : null };
}

const present = "present\n";
const absent = "absent\n";
const lookUp = `if command -v -- "$1" > /dev/null; then echo present; else echo absent; fi`;
