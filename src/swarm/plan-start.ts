import { SwarmError } from "../errors/errors.ts";
import type { Project } from "../project/project.ts";
import { requireTrustedSettings } from "../settings/read-settings.ts";
import { makePlan } from "../tasks/make-plan.ts";
import type { SwarmPlan } from "../tasks/rules/plan.ts";
import type { PlannedWork } from "./begin-swarm.ts";
import { readHostCapacity } from "./worker/host-capacity.ts";

/** A request to plan task files. No file in the request means all task files. */
export interface PlanRequest {
  readonly files: readonly string[];
  readonly again: boolean;
  readonly strict: boolean;
}

/** The plan of `swarm start`, with the tasks to run exactly as they were read for the plan. */
export interface PlannedStart {
  readonly plan: SwarmPlan;
  readonly works: readonly PlannedWork[];
}

type PlanProject = Pick<
  Project,
  "engines" | "git" | "host" | "identity" | "repository" | "settings" | "tasks" | "trust"
>;

/** Plans which tasks `swarm start` would run, in which order and why. Changes nothing. */
export async function planStart(
  project: PlanProject,
  { files, again, strict }: PlanRequest,
): Promise<PlannedStart> {
  const deps = {
    folder: await project.tasks.folder(),
    trust: await project.trust(),
    ledger: await project.tasks.ledger(),
    git: await project.git.queries(),
    hostCapacity: () => readHostCapacity(project),
    env: project.host.env,
  };
  const settings = requireTrustedSettings(await project.settings());
  const { plan, tasks } = await makePlan(deps, { files, again, strict, settings });
  const works = plan.tasks.flatMap(({ action, file, slug }): PlannedWork[] => {
    const task = tasks.find(({ path }) => path === file);
    return action === "run" && task ? [{ slug, task }] : [];
  });
  return { plan, works };
}

/** Returns the checksum of each task file to run, as `FILE=SHA256`. */
export function checksumsOf(works: readonly PlannedWork[]): string[] {
  return works.map(({ task }) => `${task.path}=${task.sha256}`);
}

/**
 * Throws TASK_FILE_CHANGED if a task file differs from what another process of this command planned a moment
 * before. `planned` are the checksums that the other process sent.
 */
export function refuseChangedFiles(works: readonly PlannedWork[], planned: readonly string[]): void {
  const now = checksumsOf(works);
  const changed = [...planned, ...now].filter((each) => !planned.includes(each) || !now.includes(each));
  const files = [...new Set(changed.map((each) => each.slice(0, each.lastIndexOf("="))))];
  if (files.length > 0) throw new SwarmError("TASK_FILE_CHANGED", { files });
}
