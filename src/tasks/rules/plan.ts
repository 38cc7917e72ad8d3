import { type AgentAccessReport, createAgentAccessReport } from "../../agents/agent-access-report.ts";
import { type AgentSpec, agentDisplayName, findVariablesOfAgents } from "../../agents/agent-credentials.ts";
import { type DefaultAgentSettings, defaultAgentFromSettings } from "../../agents/default-agent.ts";
import type { PlannedTask, SwarmPlan } from "../../contract/plan.ts";
import type { AgentChoice, TaskFile } from "../../contract/tasks.ts";
import { needsModelApi } from "../../egress/worker-network.ts";
import { branchNamesClash } from "../../git/rules/branch-name.ts";
import type { Settings } from "../../settings/rules/settings.ts";
import { parseSizeBytes } from "../../text/duration-and-size.ts";
import { uniqueSlugs } from "../../text/slugs.ts";
import type { TaskLedgerLine } from "./ledger.ts";
import { chooseMaxParallelWorkers, type HostCapacity } from "./parallel-workers.ts";
import { findGraphProblems, storyOrder } from "./story-graph.ts";

export type { SwarmPlan };

/** A task file that swarm has read and found valid. */
export interface LoadedTask {
  /** The task file's name inside the task folder. */
  readonly fileName: string;
  /** The path of the task file, as messages and commands show it to the user. */
  readonly path: string;
  readonly sha256: string;
  readonly taskFile: TaskFile;
}

/**
 * A worker's task. `sha256` is the task file's hash; null if the task file no longer exists, so that swarm
 * read the task from the copy in the worker's task request.
 */
export interface WorkerTask extends Omit<LoadedTask, "sha256"> {
  readonly sha256: string | null;
}

/** The facts from which swarm plans `swarm start`. */
export interface PlanContext {
  readonly settings: Settings;
  readonly ledger: ReadonlyMap<string, TaskLedgerLine>;
  readonly again: boolean;
  readonly head: string | null;
  /**
   * The capacity of the engine's host; null if the setting `parallel` is not `auto`, or if the capacity is
   * unknown.
   */
  readonly capacity: HostCapacity | null;
  readonly warnings: readonly string[];
  /**
   * The user's environment variables. The plan inserts them into addresses, and warns about secrets whose
   * variable is not set.
   */
  readonly env: Readonly<Record<string, string | undefined>>;
}

/** A conflict between task files that cannot run together: clashing branches, or invalid dependencies. */
interface TaskConflict {
  readonly path: string;
  readonly pointer: string;
  readonly problem: string;
  readonly hint: string;
}

/**
 * Finds conflicts because of which task files cannot run together: clashing branches, and missing or cyclic
 * dependencies.
 */
export function findTaskConflicts(
  tasks: readonly LoadedTask[],
  allFileNames: readonly string[],
): TaskConflict[] {
  return [...findBranchClashes(tasks), ...findDependencyClashes(tasks, allFileNames)];
}

/** Plans which tasks `swarm start` would run or skip, in which order, and why. */
export function planSwarm(tasks: readonly LoadedTask[], context: PlanContext): SwarmPlan {
  const { settings, warnings, env } = context;
  const slugs = uniqueSlugs(tasks.map(({ fileName }) => fileName));
  const doneFiles = new Set(
    tasks
      .filter(({ sha256 }) => !context.again && context.ledger.get(sha256)?.outcome === "completed")
      .map(({ fileName }) => fileName),
  );
  const planned = inOrder(tasks).map((task) =>
    planTask(task, slugs[tasks.indexOf(task)] ?? task.fileName, doneFiles, context),
  );
  const running = tasks.filter(({ sha256 }) => context.again || !context.ledger.has(sha256));
  const agents = running.map((task) => agentOfTask(task, settings));
  const allowed = running.flatMap(({ taskFile }) => taskFile.metadata.allow ?? []);
  const reach = createAgentAccessReport(agents, allowed, settings, env);
  const accesses =
    settings.network === "gateway" ? [] : findVariablesOfAgents(agents, (name) => Boolean(env[name]));
  return {
    base: context.head,
    parallel: chooseMaxParallelWorkers(
      running,
      { parallel: settings.parallel, memoryBytes: parseSizeBytes(settings["limits.memory"]) ?? 1 },
      context.capacity,
    ),
    isolation: settings.isolation,
    network: settings.network,
    reach: [...reach.lines],
    credentials: accesses.map(({ agent, variables: names }) => ({ agent, variables: [...names] })),
    limits: {
      cpus: settings["limits.cpus"],
      memory: settings["limits.memory"],
      disk: settings["limits.disk"],
      pids: settings["limits.pids"],
    },
    timeout: settings.timeout,
    tasks: planned,
    warnings: [
      ...warnings,
      ...warningsOfReach(reach, agents, settings),
      ...warningsOfGateway(running, settings),
    ],
  };
}

/** Returns the agent for a task: the agent in the task file, or else the default agent from the settings. */
export function agentOfTask(
  { taskFile }: Pick<LoadedTask, "taskFile">,
  settings: DefaultAgentSettings,
): AgentChoice {
  return taskFile.metadata.agent ?? defaultAgentFromSettings(settings);
}

/**
 * Returns warnings about what would make `swarm start` fail: missing secrets, addresses that the gateway
 * cannot call, or agents that need a network although the setting forbids it.
 */
function warningsOfReach(
  { missing, problems }: AgentAccessReport,
  agents: readonly AgentSpec[],
  { network }: Settings,
): string[] {
  if (network === "none")
    return [...new Set(agents.filter(({ kind }) => needsModelApi(kind)).map(agentDisplayName))].map(
      (agent) =>
        `\`swarm start\` refuses ${agent} with --network none, because this agent needs its model's API`,
    );
  return [
    ...missing.map(
      ({ agent, variables }) =>
        `${agent} needs one of the variables ${variables.join(", ")}, but none of these variables is set`,
    ),
    ...problems.map(
      ({ name, expected }) => `${name}: the gateway cannot call this address; it needs ${expected}`,
    ),
  ];
}

/** Returns warnings about settings that have no effect because the workers' network has no gateway. */
function warningsOfGateway(running: readonly LoadedTask[], settings: Settings): string[] {
  if (settings.network === "gateway") return [];
  const metadata = running.map(({ taskFile }) => taskFile.metadata);
  const budgets = [
    settings.budgetUsd,
    settings.budgetTokens,
    settings.swarmBudgetUsd,
    settings.swarmBudgetTokens,
    ...metadata.map((each) => each.budgetUsd ?? null),
  ];
  const isBudgeted = budgets.some((budget) => budget !== null);
  const isAllowed = settings.allow.length > 0 || metadata.some((each) => each.allow?.length);
  const warnings: string[] = [];
  if (isBudgeted)
    warnings.push(
      `budgets in dollars and tokens have no effect: with --network ${settings.network}, no gateway counts the usage`,
    );
  if (isAllowed)
    warnings.push(
      `allowed hosts (--allow) have no effect: with --network ${settings.network}, no gateway checks the hosts`,
    );
  return warnings;
}

function planTask(
  task: LoadedTask,
  slug: string,
  doneFiles: ReadonlySet<string>,
  { ledger, again, settings }: PlanContext,
): PlannedTask {
  const { metadata, userStories } = task.taskFile;
  const done = again ? undefined : ledger.get(task.sha256);
  const waits = metadata.dependsOn ?? [];
  const open = waits.filter((name) => !doneFiles.has(name));
  const order = storyOrder(userStories);
  return {
    file: task.path,
    slug,
    title: metadata.title,
    branch: metadata.branchName,
    agent: metadata.agent?.kind ?? settings.agent,
    base: metadata.baseRef ?? (waits.length > 0 ? `the result of ${waits.join(" and ")}` : "HEAD"),
    dependsOn: [...waits],
    action: done ? "skip" : "run",
    why: whyOf(done, waits, open),
    timeout: metadata.timeout ?? settings.timeout,
    budgetUsd: metadata.budgetUsd ?? settings.budgetUsd,
    allow: [...settings.allow, ...(metadata.allow ?? [])],
    image: metadata.dockerImage ?? null,
    checks: [...(metadata.verify ?? settings.verify)],
    stories: order.map((story) => ({
      id: story.id,
      title: story.title,
      after: [...(story.dependsOn ?? [])],
      checks: [...(story.verify ?? [])],
    })),
  };
}

function whyOf(done: TaskLedgerLine | undefined, waits: readonly string[], open: readonly string[]): string {
  if (done)
    return `${done.outcome} on ${done.at.slice(0, 10)} with the same content; --again repeats this task`;
  if (open.length > 0) return `after ${open.join(" and ")}`;
  return waits.length > 0 ? `at once, because ${waits.join(" and ")} completed` : "at once";
}

/** Sorts tasks so that each task comes after its dependencies. Otherwise, keeps the given order. */
function inOrder(tasks: readonly LoadedTask[]): LoadedTask[] {
  const present = new Set(tasks.map(({ fileName }) => fileName));
  const nodes = tasks.map((task, priority) => ({
    id: task.fileName,
    priority,
    dependsOn: (task.taskFile.metadata.dependsOn ?? []).filter((name) => present.has(name)),
    task,
  }));
  return storyOrder(nodes).map(({ task }) => task);
}

function findBranchClashes(tasks: readonly LoadedTask[]): TaskConflict[] {
  return tasks.flatMap(({ path, taskFile }, index) => {
    const branch = taskFile.metadata.branchName;
    const other = tasks
      .slice(0, index)
      .find(({ taskFile: { metadata } }) => branchNamesClash(metadata.branchName, branch));
    if (!other) return [];
    const otherBranch = other.taskFile.metadata.branchName;
    const problem =
      otherBranch === branch
        ? `${other.path} also uses the branch ${branch}`
        : `git cannot have both branches ${otherBranch} (${other.path}) and ${branch}, because one name is a parent path of the other`;
    return [
      { path, pointer: "/metadata/branchName", problem, hint: "Give each task file a branch of its own." },
    ];
  });
}

function findDependencyClashes(
  tasks: readonly LoadedTask[],
  allFileNames: readonly string[],
): TaskConflict[] {
  const unread = allFileNames.filter((name) => !tasks.some(({ fileName }) => fileName === name));
  const nodes = [
    ...tasks.map(({ fileName, taskFile }) => ({
      name: fileName,
      dependsOn: taskFile.metadata.dependsOn ?? [],
    })),
    ...unread.map((name) => ({ name, dependsOn: [] })),
  ];
  return findGraphProblems(nodes).map(({ node, dependency, problem, hint }) => ({
    path: tasks[node]?.path ?? "",
    pointer: dependency === undefined ? "/metadata/dependsOn" : `/metadata/dependsOn/${dependency}`,
    problem,
    hint,
  }));
}
