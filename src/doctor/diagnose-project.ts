import type { Finding } from "../contract/doctor.ts";
import type { ContainerEngine, EngineWorktreeScope } from "../engine/engine.ts";
import type { Project } from "../project/project.ts";
import type { SwarmState } from "../state/rules/swarm-state.ts";
import { loadTasks } from "../tasks/load-tasks.ts";
import { findFilesToTrust } from "../tasks/trust-files.ts";
import { formatCount } from "../text/format-count.ts";
import { asFinding, good, weak } from "./finding.ts";

type DiagnosedProject = Pick<Project, "git" | "settings" | "state" | "tasks" | "trust">;

/** Returns the findings of `swarm doctor` about the worktree's swarm, its containers and its files. */
export async function diagnoseProject(
  project: DiagnosedProject,
  scope: EngineWorktreeScope,
  engine: ContainerEngine | null,
  signal: AbortSignal,
): Promise<Finding[]> {
  const read = async () => (await project.state.store()).find();
  const state = await read().catch(asFinding("state"));
  const isUnreadable = state !== null && "subject" in state;
  return [
    isUnreadable
      ? state
      : good(
          "state",
          state
            ? `swarm ${state.swarmId} with ${formatCount(state.containers.length, "container")}`
            : "no swarm in this worktree yet",
        ),
    ...(engine
      ? [
          await checkLeftovers(engine, scope, isUnreadable ? null : state, signal).catch(
            asFinding("leftovers", "weak"),
          ),
        ]
      : []),
    await checkTrust(project).catch(asFinding("trust")),
    await checkTaskFiles(project).catch(asFinding("task files", "weak")),
  ];
}

/** Returns the finding about containers of the worktree that the state does not contain. */
async function checkLeftovers(
  engine: Pick<ContainerEngine, "listContainers">,
  scope: EngineWorktreeScope,
  state: SwarmState | null,
  signal: AbortSignal,
): Promise<Finding> {
  const known = new Set(state?.containers.map(({ containerName }) => containerName));
  const containers = await engine.listContainers(scope, signal);
  const strays = containers.flatMap(({ name }) => (known.has(name) ? [] : name));
  return strays.length === 0
    ? good("leftovers", "every container of this project has a record in the state file")
    : weak(
        "leftovers",
        `containers without a record: ${strays.join(", ")}`,
        "`swarm state repair` adds records of these containers.",
      );
}

/** Returns the finding about files that need the user's trust and do not have it yet. */
async function checkTrust(project: DiagnosedProject): Promise<Finding> {
  const files = await findFilesToTrust(project);
  const untrusted = files.flatMap(({ path, trusted }) => (trusted ? [] : path));
  return untrusted.length === 0
    ? good("trust", "no file of this project still needs to be trusted")
    : weak(
        "trust",
        `swarm refuses these files until you trust them: ${untrusted.join(", ")}`,
        "Read the files, then run `swarm trust`.",
      );
}

/** Returns the finding about the number of task files. Throws the error of the first invalid task file. */
async function checkTaskFiles(project: DiagnosedProject): Promise<Finding> {
  const { effective } = await project.settings();
  const deps = {
    folder: await project.tasks.folder(),
    git: await project.git.queries(),
    // Counts tasks as if the user trusted them: another finding reports trust.
    trust: { isTrusted: async () => true },
  };
  const { tasks } = await loadTasks(deps, { files: [], settings: effective, strict: false });
  return good("task files", formatCount(tasks.length, "task file"));
}
