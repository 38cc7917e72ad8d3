import type { GitQueries } from "../git/git.ts";
import type { Settings } from "../settings/rules/settings.ts";
import { formatCount } from "../text/format-count.ts";
import { type LoadTasksDeps, loadTasks } from "./load-tasks.ts";
import type { LedgerFile } from "./project-tasks.ts";
import { newestLedgerLineBySha256 } from "./rules/ledger.ts";
import type { HostCapacity } from "./rules/parallel-workers.ts";
import { type LoadedTask, planSwarm, type SwarmPlan } from "./rules/plan.ts";

interface MakePlanDeps extends LoadTasksDeps {
  readonly ledger: Pick<LedgerFile, "read">;
  readonly git: Pick<GitQueries, "head" | "changedFiles" | "remotes">;
  /** Returns the memory and the CPUs of the engine's host, where the workers would run. */
  readonly hostCapacity: () => Promise<HostCapacity>;
  /** The environment variables of the `swarm` command that the user runs. */
  readonly env: Readonly<Record<string, string | undefined>>;
}

export interface PlanRequest {
  readonly files: readonly string[];
  readonly settings: Settings;
  readonly again: boolean;
  readonly strict: boolean;
}

/** Reads the task files and plans them. Returns the plan, and the tasks as they were read. */
export async function makePlan(
  deps: MakePlanDeps,
  { files, settings, again, strict }: PlanRequest,
): Promise<{ plan: SwarmPlan; tasks: LoadedTask[] }> {
  const { tasks, warnings } = await loadTasks(deps, { files, settings, strict });
  const [lines, head, changed, capacity] = await Promise.all([
    deps.ledger.read(),
    deps.git.head(),
    deps.git.changedFiles(),
    settings.parallel === "auto" ? deps.hostCapacity() : null,
  ]);
  const plan = planSwarm(tasks, {
    settings,
    again,
    head,
    ledger: newestLedgerLineBySha256(lines),
    capacity,
    env: deps.env,
    warnings: [...warnings, ...warningsOfRepository(head, changed)],
  });
  return { plan, tasks };
}

function warningsOfRepository(head: string | null, changed: number): string[] {
  if (head === null) return ["the repository has no commit yet; workers start from a commit"];
  const files = `${formatCount(changed, "file")} ${changed === 1 ? "differs" : "differ"}`;
  return changed > 0 ? [`${files} from HEAD; workers start from HEAD and do not see these changes`] : [];
}
