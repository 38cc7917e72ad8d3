import type { CommitAuthor, Completion, TaskRequestPayload } from "../src/contract/acp.ts";
import { formatDuration } from "../src/text/duration-and-size.ts";
import type { Agent } from "./agents/agent.ts";
import { findAgent } from "./agents/agent-kinds.ts";
import { findEarlierConversationId, toPublishableConversationId } from "./journal/conversation-ids.ts";
import type { EarlierAdapterRunResults } from "./journal/earlier-runs.ts";
import type { Journal } from "./journal/journal.ts";
import { type RecoveryNotes, writeRecoveryNotes } from "./journal/recovery-notes.ts";
import { requireValidTaskFile, taskLimitsWithDefaults } from "./journal/task-request.ts";
import { killAgentProcesses, runProgramAsAgentUser } from "./machine/agent-user.ts";
import { AdapterCommandTimeLimits } from "./machine/command-time-limits.ts";
import { diskCheckIntervalMs, watchDisk } from "./machine/disk-watch.ts";
import { FatalWorkerError } from "./machine/fatal-worker-error.ts";
import type { PauseAwareClock } from "./machine/pause-aware-clock.ts";
import { findProcessCounter, watchProcesses } from "./machine/process-watch.ts";
import { ProgramResultUnknownError, requireExitCode } from "./machine/program-end.ts";
import { readRegularFileScript } from "./machine/regular-file-scripts.ts";
import { runPeriodically } from "./machine/run-periodically.ts";
import type { SandboxPaths } from "./machine/sandbox-paths.ts";
import { TaskLimitReached } from "./machine/task-limit-reached.ts";
import { bundleTaskCommits, executeTask } from "./story/execute-task.ts";
import type { SupervisorStatus } from "./supervisor-status.ts";
import { createActivityFeed } from "./turn/activity-feed.ts";
import { findAgentVersion, runTurn } from "./turn/run-turn.ts";
import { UsageTracker } from "./turn/usage-tracker.ts";
import { GitFailure } from "./workspace/git.ts";
import { prepareWorkspace, rebuildWorkspace } from "./workspace/prepare-workspace.ts";
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
  readonly author: CommitAuthor;
  readonly credentials: () => Readonly<Record<string, string>>;
  readonly swarmId: string;
}

export interface TaskRunEnd {
  readonly code: number;
  readonly completion: Completion["payload"];
}

/**
 * The default time limit of each command that the adapter itself runs, such as a git command, in
 * milliseconds.
 */
const commandMs = 120_000;
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
  const { cancelled, request } = run;
  const commands = new AdapterCommandTimeLimits(clock, cancelled);
  const started: StartedParts = { workspace: null, snapshots: null };
  try {
    return await executeRequest(deps, run, { commands, started });
  } catch (error) {
    const isStopped =
      cancelled.aborted && (error === cancelled.reason || error instanceof ProgramResultUnknownError);
    if (!isStopped) throw failureOf(error);
    using _last = commands.extend(Math.min(status.graceMs, lastCommandsMs));
    const env = environmentOf(deps.env, paths, request);
    return { code: 143, completion: await stop({ paths, env }, started, status) };
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
  { commands, started }: { readonly commands: AdapterCommandTimeLimits; readonly started: StartedParts },
): Promise<TaskRunEnd> {
  const { paths, clock, status, journal, history, author, swarmId } = deps;
  const agent = findAgent(request.agent?.kind ?? "claude");
  if (!agent)
    throw new FatalWorkerError("REQUEST_INVALID", "the task request contains an unknown kind of agent");
  const env = environmentOf(deps.env, paths, request);
  const agentEnv = () => ({ ...env, ...request.agent?.env, ...deps.credentials() });
  const limits = taskLimitsWithDefaults(request);
  using watches = new DisposableStack();
  const wallClock = watches.use(clock.after(limits.wallClockMs));
  wallClock.signal.addEventListener("abort", () =>
    halt.abort(
      new TaskLimitReached(
        "AGENT_LIMIT_REACHED",
        `the task reached its time limit of ${formatDuration(limits.wallClockMs)}`,
        "result",
      ),
    ),
  );
  // An earlier run of the adapter may have left processes behind.
  await killAgentProcesses();

  const workspaceRequest = {
    ...{ paths, env, history, branch: request.branchName, repoUrl: request.repoUrl },
    ...{ baseCommit: request.baseCommit ?? null, knownBase: deps.notes.base },
    knownExclude: deps.notes.exclude,
    limit: (ms = commandMs) => commands.limit(ms),
    workLimits: limits,
  };
  const workspace = await prepareWorkspace(workspaceRequest);
  started.workspace = workspace;
  let notes: RecoveryNotes = { ...deps.notes, base: workspace.base, exclude: workspace.exclude };
  await writeRecoveryNotes(paths, notes);
  using reading = commands.limit(commandMs);
  const taskFile = requireValidTaskFile(
    request.taskFile ?? (await readTaskFile(request, { env, paths, deadline: reading.signal })),
  );
  using version = commands.limit(versionMs);
  await checkAgent(deps, agent, { request, env: agentEnv(), deadline: version.signal });
  status.phase = "running";

  const feed = createActivityFeed(
    (payload) => void journal.append({ type: "activity", payload }).catch(() => {}),
  );
  const spending = new UsageTracker(
    history.usage,
    (payload) => void journal.append({ type: "usage", payload }).catch(() => {}),
  );
  const snapshots = new UncommittedWorkSnapshotWriter({ paths, workspace, env, author });
  started.snapshots = snapshots;
  watches.defer(
    runPeriodically(limits.snapshotMs, async () => {
      if (status.idleness !== null && status.storyId !== null) await snapshots.takeSoon(status.storyId);
    }),
  );
  const checkDisk = watchDisk({
    ...{ paths, env, limits, signal: halt.signal },
    onMeasured: (bytes) => {
      status.diskBytes = bytes;
    },
    onTooFull: (message) => halt.abort(new TaskLimitReached("DISK_FULL", message, "nothing")),
  });
  // Not awaited: the checks of the free space must go on during a measurement, which may take long.
  watches.defer(runPeriodically(diskCheckIntervalMs, async () => void checkDisk().catch(() => {})));
  const processes = watches.use(
    watchProcesses(await findProcessCounter(), (highest, isMarkedRise) =>
      status.count(highest, isMarkedRise),
    ),
  );
  const work = { paths, workspace, env };
  const completion = await executeTask(
    {
      ...work,
      ...{ clock, processes, request, taskFile, swarmId, author, limits, history },
      onStory: (storyId) => {
        status.storyId = storyId;
      },
      appendToJournal: (message) => {
        // Keeps the order of events: publishes the agent's last activity before the story's outcome.
        feed.flush();
        return journal.append(message);
      },
      conversationOf: (storyId) => toPublishableConversationId(notes.conversations[storyId]),
      snapshot: (storyId) => snapshots.take(storyId),
      rebuild: (good) =>
        rebuildWorkspace(
          { ...workspaceRequest, knownBase: workspace.base, knownExclude: workspace.exclude },
          good,
        ),
      runTurn: async (turn, signal) => {
        const { storyId } = turn;
        const end = await runTurn(
          {
            ...{ paths, clock, processes, agent, limits, env: agentEnv },
            graceMs: () => status.graceMs,
            conversation: {
              get id() {
                return notes.conversations[storyId] ?? findEarlierConversationId(request, storyId);
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
    },
    halt.signal,
  );
  return { code: completion.status === "completed" ? 0 : 1, completion };
}

/** Stores the unfinished work of a stopped task, so that a later adapter process can continue the work. */
async function stop(
  at: { readonly paths: SandboxPaths; readonly env: Readonly<Record<string, string>> },
  { workspace, snapshots }: StartedParts,
  { storyId }: SupervisorStatus,
): Promise<Completion["payload"]> {
  await killAgentProcesses();
  const end = { status: "stopped", errors: [] } as const;
  try {
    if (workspace === null) return { ...nothingMade, ...end };
    await workspace.restoreBranch();
    if (storyId !== null) await snapshots?.take(storyId);
    return { ...(await bundleTaskCommits({ ...at, workspace })), ...end };
  } catch {
    // Reports no bundle: an agent can break the repository at any moment, and a later run rebuilds it from the earlier
    // bundles.
    return { ...nothingMade, ...end };
  }
}

const nothingMade = { prUrl: null, head: null, bundle: null, sha256: null };

/** Returns the environment variables of the container and of the task request, without credentials. */
function environmentOf(
  base: Readonly<Record<string, string>>,
  { home }: SandboxPaths,
  { envVars }: TaskRequestPayload,
): Record<string, string> {
  return { ...base, ...envVars, HOME: home, USER: "agent", LOGNAME: "agent", IS_SANDBOX: "1" };
}

async function readTaskFile(
  { taskFilePath }: TaskRequestPayload,
  {
    env,
    paths,
    deadline,
  }: {
    readonly env: Readonly<Record<string, string>>;
    readonly paths: SandboxPaths;
    readonly deadline: AbortSignal;
  },
): Promise<unknown> {
  const command = ["sh", "-c", readRegularFileScript, "sh", taskFilePath];
  const read = await runProgramAsAgentUser({
    command,
    env,
    folder: paths.workspace,
    maxOutputLength: 16 << 20,
    deadline,
  });
  if (requireExitCode(`reading ${taskFilePath}`, read) !== 0)
    throw new FatalWorkerError(
      "TASK_FILE_NOT_FOUND",
      `the repository does not contain the file ${taskFilePath}`,
    );
  const { stdout } = read;
  try {
    return JSON.parse(stdout);
  } catch (error) {
    throw new FatalWorkerError(
      "TASK_FILE_INVALID",
      `${taskFilePath}: ${error instanceof Error ? error.message : ""}`,
    );
  }
}

/**
 * Checks that the image contains the agent's program, and that at least one of the agent's credentials is
 * set. Runs before the first story, because otherwise every story would fail.
 */
async function checkAgent(
  { paths, status }: RunTaskDeps,
  agent: Agent,
  {
    request,
    env,
    deadline,
  }: {
    readonly request: TaskRequestPayload;
    readonly env: Readonly<Record<string, string>>;
    readonly deadline: AbortSignal;
  },
): Promise<void> {
  const requested = request.agent ?? { kind: "claude" };
  if (agent.needsOneOf.length > 0 && !agent.needsOneOf.some((name) => env[name]))
    throw new FatalWorkerError(
      "MISSING_ENV_VAR",
      `the agent ${agent.kind} needs one of these variables: ${agent.needsOneOf.join(", ")}`,
    );
  const { isThere, version } = await findAgentVersion(agent, requested, { paths, env, deadline });
  if (!isThere)
    throw new FatalWorkerError(
      "AGENT_NOT_FOUND",
      `the sandbox's image does not contain the program ${agent.program(requested)}`,
    );
  status.agent = { kind: agent.kind, version };
}
