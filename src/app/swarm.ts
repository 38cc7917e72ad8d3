import { randomUUID } from "node:crypto";
import { join } from "node:path";
import type { PlanRequest, SwarmOperations } from "../cli/composition.ts";
import { SwarmError } from "../errors/errors.ts";
import type { Settings } from "../settings/rules/settings.ts";
import { findWorkersByArguments } from "../state/rules/choose-workers.ts";
import { isTerminalStatus } from "../state/rules/container-status.ts";
import { type OwnerCommand, stateWithoutOwnerCommand } from "../state/rules/owner-commands.ts";
import { hasUnendedWorkers, haveAllWorkersEnded, type SwarmState } from "../state/rules/swarm-state.ts";
import type { PlannedWork } from "../swarm/begin-swarm.ts";
import { refuseEndedTasks } from "../swarm/refuse-ended-tasks.ts";
import { refuseTasksWithoutBase } from "../swarm/refuse-tasks-without-base.ts";
import type { SwarmPlan } from "../tasks/rules/plan.ts";
import { describeHolder } from "../text/lock-holder.ts";
import { createOwnerOperations, type OwnerOperationsDeps } from "./owner.ts";

export interface SwarmOperationsDeps extends OwnerOperationsDeps {
  readonly resolveSettings: () => Promise<Settings>;
  /**
   * Reads the state file of this worktree's swarm; returns null if there is none. Throws PROJECT_MOVED if
   * the file belongs to another project.
   */
  readonly findState: () => Promise<SwarmState | null>;
  readonly plan: (request: PlanRequest) => Promise<SwarmPlan>;
}

/** Creates the operations that run a swarm. Loads their modules only when a command needs them. */
export function createSwarmOperations(deps: SwarmOperationsDeps): SwarmOperations {
  const { own, accessToModels, watcher } = createOwnerOperations(deps);

  return {
    async start(request, report) {
      const plan = await deps.plan(request);
      const { loadTasks } = await import("../tasks/load-tasks.ts");
      const { tasks } = await loadTasks(await deps.taskDeps(), {
        ...{ files: request.files, strict: request.strict, settings: await deps.resolveSettings() },
      });
      const works = plan.tasks.flatMap(({ action, file, slug }): PlannedWork[] => {
        const task = tasks.find(({ path }) => path === file);
        return action === "run" && task ? [{ slug, task }] : [];
      });
      const access = await accessToModels(null);
      access.refuse(await access.findAgentsToStart(works, null, []));
      report.onPlanned(plan);
      // Throws PROJECT_MOVED if the state belongs to another project.
      const known = await deps.findState();
      // No file in the request means `--all`: new task files and the swarm's unfinished workers.
      const isLeft = request.files.length === 0 && known !== null && hasUnendedWorkers(known);
      if (works.length === 0 && (!isLeft || request.append))
        return { kind: "nothing", plan, files: request.files };
      const resumed = request.force ? null : known;
      refuseTasksWithoutBase(works, resumed);
      if (request.append && (await isOwned())) {
        refuseEndedTasks(works, known);
        const state = await append(works);
        // If the owner exited before it saw the new work, this process becomes the owner below.
        if (await isOwned()) return { kind: "appended", state, files: works.map(({ task }) => task.path) };
      }
      refuseEndedTasks(works, resumed);
      return {
        kind: "carried out",
        state: await own({ ...request, works }, report),
      };
    },

    async resume(request, report) {
      const { swarmId, containers } = await readState();
      if (containers.length === 0) throw new SwarmError("WORKERS_MISSING", { swarmId });
      return own({ ...request, works: [] }, report);
    },

    async retry({ workers, ...request }, report) {
      const state = await readState();
      const { onto } = request;
      if (onto !== undefined) {
        // A running owner cannot receive a branch with a retry command.
        await refuseOwner();
        const chosen = findWorkersByArguments(state, workers).map(({ containerName }) => containerName);
        return {
          kind: "carried out",
          state: await own({ ...request, retry: chosen, works: [] }, report),
        };
      }
      const names = findWorkersByArguments(state, workers)
        .filter(({ status }) => status === "failed" || status === "stopped")
        .map(({ containerName }) => containerName);
      if (names.length === 0) return { kind: "nothing", state };
      const commands = names.map((name) => ({ of: "container", name, wish: "retry" }) as const);
      await refuseFlagsBesideOwner();
      // This process runs no work yet, so `halt` only ends the wait for the owner's answer.
      if (await sendToOwner(commands, AbortSignal.any([report.signal, report.halt])))
        return { kind: "asked", state: await readState() };
      const retried = { ...request, retry: names, works: [] };
      return { kind: "carried out", state: await own(retried, report) };
    },

    async steer(command, workers, signal) {
      const state = await readState();
      const chosen = workers.length > 0 ? findWorkersByArguments(state, workers) : state.containers;
      const names = chosen
        .filter(({ status }) => !isTerminalStatus(status))
        .map((record) => record.containerName);
      if (names.length === 0) return { by: "none", state };
      const commands: OwnerCommand[] =
        workers.length === 0
          ? [{ of: "swarm", wish: command }]
          : names.map((name) => ({ of: "container", name, wish: command }));
      if (await sendToOwner(commands, signal)) return { by: "owner", state: await readState() };
      const [{ acquireSwarmOwnership }, { steerUnownedSwarm }] = await Promise.all([
        import("../state/acquire-ownership.ts"),
        import("../swarm/steer-unowned.ts"),
      ]);
      await using _ownership = await acquireSwarmOwnership(await deps.ownerLock());
      const engine = await deps.engine(state.engine?.endpoint ?? null);
      const { containers } = await engine.open();
      const store = await deps.stateStore();
      await store.update((now) => commands.reduce(stateWithoutOwnerCommand, now));
      return {
        by: "us",
        state: await steerUnownedSwarm({ store, containers, clock: deps.clock, signal }, command, names),
      };
    },

    async detach(words) {
      const known = await deps.findState();
      const swarmId = known && !haveAllWorkersEnded(known) ? known.swarmId : randomUUID();
      const { spawnOwner } = await import("../swarm/spawn-owner.ts");
      const log = join((await deps.repository()).root, ".aimi", "swarms", swarmId, "owner.log");
      const [verb = "", ...rest] = words;
      const own = ["own", verb, "--swarm-id", swarmId, "--progress", "plain", ...rest];
      const { pid, begun } = await spawnOwner(own, log);
      return { pid, swarmId: begun ?? swarmId, log };
    },
  };

  async function readState(): Promise<SwarmState> {
    return (await deps.findState()) ?? (await deps.stateStore()).read();
  }

  async function sendToOwner(commands: readonly OwnerCommand[], signal: AbortSignal): Promise<boolean> {
    const owner = await import("../swarm/send-to-owner.ts");
    return owner.sendCommandsToOwner(
      { store: await deps.stateStore(), owner: await deps.ownerLock(), watch: await watcher() },
      commands,
      signal,
    );
  }

  async function isOwned(): Promise<boolean> {
    return (await (await deps.ownerLock()).holder()) !== null;
  }

  async function refuseOwner(): Promise<void> {
    const holder = await (await deps.ownerLock()).holder();
    if (holder !== null) throw new SwarmError("OWNED_BY_ANOTHER", { holder: describeHolder(holder) });
  }

  /**
   * Throws if the user gives this command flags that change settings while another process owns the swarm,
   * because that owner would ignore the flags.
   */
  async function refuseFlagsBesideOwner(): Promise<void> {
    const { settings } = await deps.explainAllSettings();
    const holder = await (await deps.ownerLock()).holder();
    if (holder !== null && settings.some(({ origin }) => origin === "flag"))
      throw new SwarmError("OWNED_BY_ANOTHER", { holder: describeHolder(holder) });
  }

  async function append(works: readonly PlannedWork[]): Promise<SwarmState> {
    const { addPlannedWork } = await import("../swarm/begin-swarm.ts");
    return (await deps.stateStore()).update((state) => addPlannedWork(state, works, deps.clock()));
  }
}
