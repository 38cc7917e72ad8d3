import { defaultAgentFromSettings, findAgentProblem } from "../agents/default-agent.ts";
import { needsModelApi } from "../egress/worker-network.ts";
import { SwarmError } from "../errors/errors.ts";
import type { Repository } from "../git/find-repository.ts";
import type { ProjectGit } from "../git/project-git.ts";
import { branchNamesClash, findBranchProblem } from "../git/rules/branch-name.ts";
import type { Host } from "../machine/host.ts";
import { type ReadSettings, requireTrustedSettings } from "../settings/read-settings.ts";
import type { Settings } from "../settings/rules/settings.ts";
import { readTaskFile } from "./parse-task-file.ts";
import type { ProjectTasks, TaskFolder } from "./project-tasks.ts";
import {
  candidateTaskNames,
  defaultBranchName,
  oneStoryTask,
  requireValidPrompt,
} from "./rules/one-story-task.ts";
import type { RecognisedTestCommand } from "./rules/recognise-test-command.ts";
import { findTestCommandAtHead } from "./test-command-at-head.ts";
import { writeIfAbsent } from "./write-if-absent.ts";

/** The parts of a project from which a command makes a new task. */
export interface MakeTaskAccess {
  readonly host: Pick<Host, "clock">;
  readonly tasks: ProjectTasks;
  readonly git: Pick<ProjectGit, "commits" | "queries">;
  repository(): Promise<Pick<Repository, "root">>;
  settings(): Promise<ReadSettings>;
}

export interface NewTaskRequest {
  readonly prompt: string;
  readonly branch: string | null;
  /**
   * The check commands that the user gave with `--verify`; an empty list means no checks. Null if the user
   * gave none: swarm then uses the checks in the settings, or else the command that runs the repository's
   * tests.
   */
  readonly verify: readonly string[] | null;
}

const maxBranchLength = 200;
const maxCheckLength = 4_000;
const maxChecks = 50;

/**
 * The checks of a new task, and where they come from: the user's command line, the settings or the
 * repository's tests.
 */
export type NewTaskChecks =
  | { readonly kind: "asked"; readonly commands: readonly string[] }
  | { readonly kind: "settings"; readonly commands: readonly string[] }
  | RecognisedTestCommand;

export interface CreatedTask {
  /** The path of the task file, relative to the repository's root folder. */
  readonly file: string;
  readonly branch: string;
  readonly check: NewTaskChecks;
  /**
   * Whether swarm created the file. If false, a file with the same content existed, and its task has not been
   * carried out yet.
   */
  readonly isNew: boolean;
}

/**
 * Writes a task file whose only story is the prompt, and returns it. If an earlier call with the same prompt
 * wrote the file, returns that file. Never overwrites a file.
 */
export async function makeTask(project: MakeTaskAccess, request: NewTaskRequest): Promise<CreatedTask> {
  const { root } = await project.repository();
  const settings = requireTrustedSettings(await project.settings());
  const prompt = requireValidPrompt(request.prompt);
  refuseWords(request);
  const git = await project.git.queries();
  const folder = await project.tasks.folder();
  const ledger = await project.tasks.ledger();
  const remotes = await git.remotes();
  if (request.branch !== null) refuseBranch(request.branch, remotes);
  const problem = findAgentProblem(settings);
  if (problem !== null) throw new SwarmError("USAGE", { message: problem });
  // The agent is stored in the task file, so that a later resume uses the same agent.
  const agent = defaultAgentFromSettings(settings);
  if (needsModelApi(agent.kind) && settings.network === "none")
    throw new SwarmError("AGENT_NEEDS_NETWORK", { kind: agent.kind, file: "the prompt" });
  const check = await checkOf(project, request, settings);
  const verify = check.kind === "found" ? [check.command] : request.verify;
  const [taken, branches, lines] = await Promise.all([
    branchesOfFiles(folder),
    git.branches(),
    ledger.read(),
  ]);
  const today = project.host.clock().toISOString().slice(0, 10);
  const done = new Set(lines.map(({ sha256 }) => sha256));

  for (const name of candidateTaskNames(prompt)) {
    const fileName = `${today}-${name}-tasks.json`;
    const others = taken.filter((other) => other.fileName !== fileName);
    if (request.branch !== null) refuseClash(others, request.branch);
    const branch =
      request.branch ??
      defaultBranchName(name, [...branches, ...others.map((other) => other.branch)], remotes);
    if (branch === null) continue;
    const task = oneStoryTask({ prompt, branch, verify, agent, today });
    const text = `${JSON.stringify(task, null, 2)}\n`;
    const file = `.aimi/tasks/${fileName}`;
    if (await writeIfAbsent(root, file, text)) return { file, branch, check, isNew: true };
    const there = await folder.read(file).catch(nullIfForeseen);
    if (there !== null && Buffer.from(there.bytes).toString() === text && !done.has(there.sha256))
      return { file, branch, check, isNew: false };
  }
  throw new Error("promptNames must yield an endless sequence of names");
}

function refuseWords({ branch, verify }: NewTaskRequest): void {
  if (branch !== null && branch.length > maxBranchLength)
    throw invalidBranch(branch, `at most ${maxBranchLength} characters`);
  const wrong = verify?.find((command) => command.trim() === "" || command.length > maxCheckLength);
  if (wrong !== undefined || (verify?.length ?? 0) > maxChecks)
    throw new SwarmError("INVALID_VALUE", {
      name: "--verify",
      value: (wrong ?? `${verify?.length} commands`).slice(0, 100),
      expected: `at most ${maxChecks} commands, each with 1 to ${maxCheckLength} characters`,
    });
}

function refuseBranch(branch: string, remotes: readonly string[]): void {
  const problem = findBranchProblem(branch, remotes);
  if (problem !== null)
    throw invalidBranch(
      branch,
      `a branch name that git accepts, for example feat/login; this name ${problem}`,
    );
}

function refuseClash(others: readonly BranchOfFile[], branch: string): void {
  const clash = others.find((other) => branchNamesClash(other.branch, branch));
  if (clash)
    throw invalidBranch(
      branch,
      `a branch name that does not conflict with ${clash.branch}, the branch of ${clash.fileName}`,
    );
}

function invalidBranch(branch: string, expected: string): SwarmError {
  return new SwarmError("INVALID_VALUE", { name: "--branch", value: branch, expected });
}

async function checkOf(
  { git }: MakeTaskAccess,
  { verify }: NewTaskRequest,
  settings: Pick<Settings, "verify">,
): Promise<NewTaskChecks> {
  if (verify !== null) return { kind: "asked", commands: verify };
  if (settings.verify.length > 0) return { kind: "settings", commands: settings.verify };
  return findTestCommandAtHead(await git.commits());
}

interface BranchOfFile {
  readonly fileName: string;
  readonly branch: string;
}

/**
 * Returns the branch names in all task files. Skips invalid task files, because `swarm plan` reports them.
 */
async function branchesOfFiles(folder: TaskFolder): Promise<BranchOfFile[]> {
  const { fileNames } = await folder.list();
  const read = await Promise.all(fileNames.map((name) => readTaskFile(folder, name).catch(nullIfForeseen)));
  return read.flatMap((file) =>
    file ? [{ fileName: file.fileName, branch: file.document.metadata.branchName }] : [],
  );
}

function nullIfForeseen(error: unknown): null {
  if (error instanceof SwarmError) return null;
  throw error;
}
