import type { Reason } from "../contract/swarm-state.ts";
import type { Project } from "../project/project.ts";
import { type NetworkAccess, openNetworkAccessWithoutGateway } from "../swarm/worker/network-access.ts";
import { alarmAfter } from "../text/alarm.ts";
import { parseDurationMs } from "../text/duration-and-size.ts";
import { createSwarmGateway } from "./create-swarm-gateway.ts";
import type { NetworkOwner, SwarmOnNetwork } from "./swarm-on-network.ts";

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
  project: Pick<Project, "host" | "repository">,
  swarm: SwarmOnNetwork,
  owner: NetworkOwner,
): Promise<SwarmNetworkAccess> {
  const { settings, network, access } = swarm;
  const gateway = settings.network === "gateway" ? await createSwarmGateway(project, swarm, owner) : null;
  const networkAccess =
    gateway ?? openNetworkAccessWithoutGateway(network, ({ request }) => access.credentials(request));
  const time = settings.swarmBudgetTime;
  const timeUp = new AbortController();
  const reason: Reason = {
    code: "BUDGET_EXCEEDED",
    message: `the swarm's time budget of ${time} is used up; run \`swarm retry\` with a longer --budget-time`,
  };
  const alarm = time === null ? null : alarmAfter(parseDurationMs(time) ?? 0, () => timeUp.abort(reason));
  return {
    ...networkAccess,
    accessEnded: (slug) => AbortSignal.any([networkAccess.accessEnded(slug), timeUp.signal]),
    end: async (how) => gateway?.end(how),
    async [Symbol.asyncDispose]() {
      alarm?.[Symbol.dispose]();
      await gateway?.release();
    },
  };
}
