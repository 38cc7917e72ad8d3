import type { Completion, TaskRequestPayload } from "../src/contract/acp.ts";
import { formatDuration } from "../src/text/duration-and-size.ts";
import { findAgent } from "./agents/agent-kinds.ts";
import type { EarlierAdapterRunResults } from "./journal/earlier-runs.ts";
import type { Journal } from "./journal/journal.ts";
import { type RecoveryNotes, writeRecoveryNotes } from "./journal/recovery-notes.ts";
import { requireValidTaskFile, taskLimitsWithDefaults } from "./journal/task-request.ts";
import { killAgentProcesses } from "./machine/agent-user.ts";
import { AdapterCommandTimeLimits } from "./machine/command-time-limits.ts";
import { watchDisk } from "./machine/disk-watch.ts";
import { FatalWorkerError, TaskLimitReached } from "./machine/fatal-worker-error.ts";
import type { PauseAwareClock } from "./machine/pause-aware-clock.ts";
import { findProcessCounter, watchProcesses } from "./machine/process-watch.ts";
import { ProgramResultUnknownError } from "./machine/program-end.ts";
import { runPeriodically } from "./machine/run-periodically.ts";
import type { SandboxPaths } from "./machine/sandbox-paths.ts";
import { bundleTaskCommits, executeTask } from "./story/execute-task.ts";
import type { StoryExecutionDeps } from "./story/story-execution.ts";
import type { SupervisorStatus } from "./supervisor-status.ts";
import { createActivityFeed } from "./turn/activity-feed.ts";
import { requireAgent } from "./turn/require-agent.ts";
import { runTurn, type TurnDeps } from "./turn/run-turn.ts";
import { UsageTracker } from "./turn/usage-tracker.ts";
import { committer } from "./workspace/commit-messages.ts";
import { GitFailure } from "./workspace/git.ts";
import { prepareWorkspace, rebuildWorkspace } from "./workspace/prepare-workspace.ts";
import { readWorkFile } from "./workspace/work-folder.ts";
import { UncommittedWorkSnapshotWriter } from "./workspace/work-snapshots.ts";
import type { Workspace } from "./workspace/workspace.ts";

export interface RunTaskDeps {
  readonly paths: SandboxPaths;
  readonly clock: PauseAwareClock;
  readonly status: SupervisorStatus;
  readonly journal: Journal;
  readonly history: EarlierAdapterRunResults;
  readonly notes: RecoveryNotes;
  readonly env: Readonly<Record<string, string>>;
  readonly credentials: () => Readonly<Record<string, string>>;
}

export interface TaskRunEnd {
  readonly code: number;
  readonly completion: Completion["payload"];
}

/** How long, in milliseconds, an agent's program may take to report its version. */
const versionMs = 30_000;
/**
 * The maximum time, in milliseconds, for the commands that store the work of a stopped task. Work that they
 * cannot store in this time stays in the work folder.
 */
const lastCommandsMs = 4_000;

export interface TaskRun {
  readonly request: TaskRequestPayload;
  /** Aborts when the adapter must stop its work, because the task has reached a limit or is cancelled. */
  readonly halt: AbortController;
  /** Aborts when the task is cancelled. A later adapter process continues the unfinished work. */
  readonly cancelled: AbortSignal;
}

/**
 * Carries out an accepted task request. Returns the payload of the completion message, which the caller
 * writes to the journal.
 */
export async function runTask(deps: RunTaskDeps, run: TaskRun): Promise<TaskRunEnd> {
  const { paths, clock, status } = deps;
  const { cancelled } = run;
  const commands = new AdapterCommandTimeLimits(clock, cancelled);
  const started: StartedParts = { workspace: null, snapshots: null };
  try {
    return await executeRequest(deps, run, commands, started);
  } catch (error) {
    const isStopped =
      cancelled.aborted && (error === cancelled.reason || error instanceof ProgramResultUnknownError);
    if (!isStopped) throw failureOf(error);
    using _last = commands.extend(Math.min(status.graceMs, lastCommandsMs));
    return { code: 143, completion: await stop(paths, started, status.storyId) };
  }
}

/**
 * The workspace and the writer of its snapshots, with which a stopped task stores its work. Each is null
 * until it is created.
 */
interface StartedParts {
  workspace: Workspace | null;
  snapshots: UncommittedWorkSnapshotWriter | null;
}

/**
 * Converts the error that ended a task which was not cancelled: errors of git, timeouts and lack of memory
 * become a `FatalWorkerError`. Returns any other error unchanged.
 */
function failureOf(error: unknown): unknown {
  if (error instanceof GitFailure) return new FatalWorkerError("GIT_CHECKOUT_FAILED", error.message);
  if (!(error instanceof ProgramResultUnknownError)) return error;
  if (error.isOutOfMemory) return new FatalWorkerError("CONTAINER_OOM", error.message);
  return error.end.kind === "deadline" ? new FatalWorkerError("AGENT_STALLED", error.message) : error;
}

async function executeRequest(
  deps: RunTaskDeps,
  { request, halt }: TaskRun,
  commands: AdapterCommandTimeLimits,
  started: StartedParts,
): Promise<TaskRunEnd> {
  const { paths, clock, status, history } = deps;
  const agent = findAgent(request.agent?.kind ?? "claude");
  if (!agent)
    throw new FatalWorkerError("REQUEST_INVALID", "the task request contains an unknown kind of agent");
  const env = {
    ...deps.env,
    ...request.envVars,
    HOME: paths.home,
    USER: "agent",
    LOGNAME: "agent",
    IS_SANDBOX: "1",
  };
  const agentEnv = () => ({ ...env, ...request.agent?.env, ...deps.credentials() });
  const limits = taskLimitsWithDefaults(request);
  using watches = new DisposableStack();
  const wallClock = watches.use(clock.after(limits.wallClockMs));
  const timeOver = `the task reached its time limit of ${formatDuration(limits.wallClockMs)}`;
  wallClock.signal.addEventListener("abort", () =>
    halt.abort(new TaskLimitReached("AGENT_LIMIT_REACHED", timeOver, "result")),
  );
  // An earlier run of the adapter may have left processes behind.
  await killAgentProcesses();

  const workspaceRequest = {
    paths,
    env,
    history,
    branch: request.branchName,
    repoUrl: request.repoUrl,
    baseCommit: request.baseCommit ?? null,
    knownBase: deps.notes.base,
    knownExclude: deps.notes.exclude,
    limit: commands.limit,
    workLimits: limits,
  };
  const workspace = await prepareWorkspace(workspaceRequest);
  const author = request.author ?? committer;
  const snapshots = new UncommittedWorkSnapshotWriter({ paths, workspace, author });
  started.workspace = workspace;
  started.snapshots = snapshots;
  const { base, exclude } = workspace.spec;
  const notes = { ...deps.notes, base, exclude };
  await writeRecoveryNotes(paths, notes);
  const taskFile = requireValidTaskFile(
    request.taskFile ?? (await readTaskFile(workspace, request.taskFilePath)),
  );
  using version = commands.limit(versionMs);
  const look = { env: agentEnv(), folder: paths.workspace, deadline: version.signal };
  const found = await requireAgent(agent, request.agent ?? { kind: "claude" }, look);
  status.agent = { kind: agent.kind, version: found };
  status.phase = "running";

  watches.defer(
    runPeriodically(limits.snapshotMs, async () => {
      if (status.idleness !== null && status.storyId !== null) await snapshots.takeSoon(status.storyId);
    }),
  );
  watches.defer(
    watchDisk({
      paths,
      env,
      limits,
      signal: halt.signal,
      onMeasured: (bytes) => {
        status.diskBytes = bytes;
      },
      onTooFull: (message) => halt.abort(new TaskLimitReached("DISK_FULL", message, "nothing")),
    }),
  );
  const processes = watches.use(
    watchProcesses(await findProcessCounter(), (highest, isMarkedRise) =>
      status.count(highest, isMarkedRise),
    ),
  );
  const sandbox = { paths, clock, processes };
  const completion = await executeTask(
    {
      sandbox,
      workspace,
      task: { request, taskFile, swarmId: status.swarmId, author, limits },
      history,
      onStory: (storyId) => {
        status.storyId = storyId;
      },
      ...reportTurns(deps, request, { sandbox, agent, env: agentEnv, limits }, notes),
      snapshot: (storyId) => snapshots.take(storyId),
      rebuild: (good) =>
        rebuildWorkspace({ ...workspaceRequest, knownBase: base, knownExclude: exclude }, good),
    },
    halt.signal,
  );
  return { code: completion.status === "completed" ? 0 : 1, completion };
}

/**
 * Returns the functions with which a story runs the agent's turns and reports to the host. They share the
 * feed of activities and the IDs of the agent's conversations.
 */
function reportTurns(
  { paths, status, journal, history }: RunTaskDeps,
  { evidence }: TaskRequestPayload,
  turnDeps: Pick<TurnDeps, "sandbox" | "agent" | "env" | "limits">,
  firstNotes: RecoveryNotes,
): Pick<StoryExecutionDeps, "appendToJournal" | "conversationOf" | "runTurn"> {
  let notes = firstNotes;
  const feed = createActivityFeed(
    (payload) => void journal.append({ type: "activity", payload }).catch(() => {}),
  );
  const spending = new UsageTracker(
    history.usage,
    (payload) => void journal.append({ type: "usage", payload }).catch(() => {}),
  );
  return {
    appendToJournal(message) {
      // Keeps the order of events: publishes the agent's last activity before the story's outcome.
      feed.flush();
      return journal.append(message);
    },
    conversationOf(storyId) {
      const id = notes.conversations[storyId];
      // Publishes only an ID of safe characters, because an untrusted agent may choose the ID.
      return id !== undefined && /^[A-Za-z0-9][A-Za-z0-9._:-]{0,199}$/.test(id) ? id : undefined;
    },
    async runTurn(turn, signal) {
      const { storyId } = turn;
      const end = await runTurn(
        {
          ...turnDeps,
          graceMs: () => status.graceMs,
          conversation: {
            get id() {
              // An earlier attempt's conversation is known only if this attempt got the earlier attempt's home folder.
              const earlier = evidence?.storyId === storyId ? evidence.conversation : null;
              return notes.conversations[storyId] ?? earlier;
            },
            async keep(id) {
              notes = { ...notes, conversations: { ...notes.conversations, [storyId]: id } };
              await writeRecoveryNotes(paths, notes);
            },
          },
          report: ({ kind, summary }) => feed.report({ storyId, kind, summary }),
          reportUsage: (usage) => spending.note(storyId, usage),
          onIdleness: (idleness) => {
            status.idleness = idleness;
          },
        },
        turn,
        signal,
      );
      feed.flush();
      spending.endTurn(storyId);
      return end;
    },
  };
}

/** Stores the unfinished work of a stopped task, so that a later adapter process can continue the work. */
async function stop(
  paths: SandboxPaths,
  { workspace, snapshots }: StartedParts,
  storyId: string | null,
): Promise<Completion["payload"]> {
  await killAgentProcesses();
  const end = { status: "stopped", errors: [] } as const;
  const nothingMade = { prUrl: null, head: null, bundle: null, sha256: null, ...end };
  try {
    if (workspace === null) return nothingMade;
    await workspace.restoreBranch();
    if (storyId !== null) await snapshots?.take(storyId);
    return { ...(await bundleTaskCommits(paths, workspace)), ...end };
  } catch {
    // Reports no bundle: an agent can break the repository at any moment, and a later run rebuilds it from the earlier
    // bundles.
    return nothingMade;
  }
}

async function readTaskFile({ spec }: Workspace, path: string): Promise<unknown> {
  const text = await readWorkFile(spec, path);
  if (text === null)
    throw new FatalWorkerError("TASK_FILE_NOT_FOUND", `the repository does not contain the file ${path}`);
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new FatalWorkerError("TASK_FILE_INVALID", `${path}: ${(error as Error).message}`);
  }
}
