import type { SwarmRunCallbacks } from "../cli/composition.ts";
import type { ContainerRecord, Reason } from "../contract/swarm-state.ts";
import type { ContainerNetwork } from "../engine/containers.ts";
import type { ContainerEngine } from "../engine/engine.ts";
import { baseImage } from "../engine/rules/base-image.ts";
import type { AgentAccess } from "../gateway/agent-access.ts";
import type { Repository } from "../git/find-repository.ts";
import type { EnvironmentVariables, UserFolders } from "../machine/user-folders.ts";
import type { Settings } from "../settings/rules/settings.ts";
import type { SwarmState } from "../state/rules/swarm-state.ts";
import type { StateStore } from "../state/state-store-port.ts";
import type { NetworkAccess } from "../swarm/worker/network-access.ts";
import type { SwarmOwnerDeps } from "../swarm/worker/swarm-owner-deps.ts";
import type { WorkerTask } from "../tasks/rules/plan.ts";
import { parseDurationMs } from "../text/duration-and-size.ts";

/**
 * The maximum delay in milliseconds that `setTimeout` accepts. With a longer delay, the timer fires at once.
 */
const maxTimerMs = 2 ** 31 - 1;

export interface NetworkAccessDeps {
  readonly env: EnvironmentVariables;
  readonly folders: UserFolders;
  readonly clock: () => Date;
  readonly repository: () => Promise<Repository>;
  readonly stateStore: () => Promise<StateStore>;
}

/**
 * What is needed to give a swarm's sandboxes their network access, such as the swarm's state, engine and
 * settings.
 */
export interface SwarmNetworkAccessInput
  extends Pick<SwarmOwnerDeps, "runtime" | "change" | "update" | "emit"> {
  readonly state: SwarmState;
  readonly engine: ContainerEngine;
  readonly runtimes: readonly string[];
  /** The container network that the sandboxes use if the swarm has no gateway. */
  readonly network: ContainerNetwork;
  readonly access: AgentAccess;
  readonly recall: (record: ContainerRecord) => Promise<WorkerTask | null>;
  readonly settings: Settings;
  readonly report: SwarmRunCallbacks;
}

/** The network access of a swarm's sandboxes, open while the swarm's owner runs. */
export interface SwarmNetworkAccess extends NetworkAccess, AsyncDisposable {
  /**
   * Removes the swarm's gateway, if it has one. If all workers have ended (`isFinished`), also removes the
   * volume with the gateway's journal.
   */
  end(how: { readonly isFinished: boolean }): Promise<void>;
}

/**
 * Opens the network access of a swarm's sandboxes: through a gateway or without one, as the setting `network`
 * says.
 */
export async function openSwarmNetworkAccess(
  deps: NetworkAccessDeps,
  context: SwarmNetworkAccessInput,
): Promise<SwarmNetworkAccess> {
  const { settings, network, access } = context;
  const gateway = settings.network === "gateway" ? await gatewayOf(deps, context) : null;
  const { openNetworkAccessWithoutGateway: withoutGateway } = await import(
    "../swarm/worker/network-access.ts"
  );
  const networkAccess = gateway ?? withoutGateway(network, ({ request }) => access.credentials(request));
  const time = settings.swarmBudgetTime;
  const timeUp = new AbortController();
  const reason: Reason = {
    code: "BUDGET_EXCEEDED",
    message: `the swarm's time budget of ${time} is used up; run \`swarm retry\` with a longer --budget-time`,
  };
  const timer =
    time === null
      ? undefined
      : setTimeout(() => timeUp.abort(reason), Math.min(parseDurationMs(time) ?? 0, maxTimerMs));
  return {
    ...networkAccess,
    accessEnded: (slug) => AbortSignal.any([networkAccess.accessEnded(slug), timeUp.signal]),
    end: async (how) => gateway?.end(how),
    async [Symbol.asyncDispose]() {
      clearTimeout(timer);
      await gateway?.release();
    },
  };
}

async function gatewayOf(
  deps: NetworkAccessDeps,
  { state, engine, report, ...context }: SwarmNetworkAccessInput,
) {
  const { createSwarmGateway } = await import("./gateway.ts");
  const { root, gitFolder, worktree } = await deps.repository();
  return createSwarmGateway({
    ...context,
    ...{ env: deps.env, folders: deps.folders, clock: deps.clock, root, gitFolder, worktree },
    ...{ swarmId: state.swarmId, projectId: state.project.id, image: () => baseImage },
    engine: await engine.open(),
    read: async () => (await deps.stateStore()).read(),
    onWarning: report.onStep,
    signal: report.signal,
  });
}
