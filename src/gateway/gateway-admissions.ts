import { createHash, createHmac } from "node:crypto";
import type { AgentSpec } from "../agents/agent-credentials.ts";
import type { AdmissionPayload, AdmittedWorker } from "../contract/gateway.ts";
import { gatewayPort } from "../egress/gateway-port.ts";
import type { WorkerSubnet } from "../egress/worker-subnets.ts";
import type { Worker } from "../swarm/worker/worker.ts";
import type { GatewayBudgets } from "./gateway-budgets.ts";
import type { GatewayPolicy, GatewayRecord, WorkerRights, WorkerToAdmit } from "./gateway-deps.ts";
import type { SwarmModelEndpoints } from "./swarm-model-endpoints.ts";

export type WorkerAccess = WorkerRights & Pick<AdmittedWorker, "endpoints">;

interface AdmittedAccess {
  readonly admitted: Omit<AdmittedWorker, "spent">;
  /** The URL at which the agent in the worker's sandbox reaches the gateway. */
  readonly url: string;
}

const loopbackUrl = `http://127.0.0.1:${gatewayPort}`;

/** The workers that the gateway admits, and what their agents may use. */
export class GatewayAdmissions {
  readonly #policy: GatewayPolicy;
  readonly #models: SwarmModelEndpoints;
  readonly #budgets: GatewayBudgets;
  readonly #accessBySlug = new Map<string, AdmittedAccess>();
  /** The package registries that the gateway mirrors. */
  mirrors: AdmissionPayload["mirrors"] = [];

  constructor(policy: GatewayPolicy, models: SwarmModelEndpoints, budgets: GatewayBudgets) {
    this.#policy = policy;
    this.#models = models;
    this.#budgets = budgets;
  }

  /** Returns which models, registries and hosts a worker may reach; null if there are none. */
  async rightsOf(worker: WorkerToAdmit): Promise<WorkerAccess | null> {
    const rights = this.#policy.rightsOf(worker.task);
    await this.#models.addAgent(agentOf(worker));
    const endpoints = this.#models.namesOf(agentOf(worker));
    const isNothing = endpoints.length + rights.mirrors.length + rights.allow.length === 0;
    return isNothing ? null : { ...rights, endpoints };
  }

  /** Admits a worker. `subnet` is the worker's own network, or null if the worker uses the shared socket. */
  add(
    { name, slug }: WorkerToAdmit,
    rights: WorkerAccess,
    record: GatewayRecord,
    subnet: WorkerSubnet | null,
  ): void {
    this.#budgets.watch(slug, { name, budget: rights.budget });
    const tokenSha256 = createHash("sha256").update(tokenOf(record, slug)).digest("hex");
    this.#accessBySlug.set(slug, {
      url: subnet === null ? loopbackUrl : `http://${subnet.gateway}:${gatewayPort}`,
      admitted: { worker: slug, tokenSha256, address: subnet?.worker ?? null, ...rights },
    });
  }

  /** Returns whether the worker was admitted until now. */
  remove(slug: string): boolean {
    if (!this.#accessBySlug.delete(slug)) return false;
    this.#budgets.forget(slug);
    return true;
  }

  payload(): AdmissionPayload {
    const { prices, budget } = this.#policy;
    return {
      endpoints: this.#models.endpoints,
      mirrors: this.mirrors,
      prices,
      budget,
      spent: this.#budgets.totalSpent(),
      workers: [...this.#accessBySlug.values()].map(({ admitted }) => ({
        ...admitted,
        spent: this.#budgets.spentBy(admitted.worker),
      })),
    };
  }

  /** Returns the environment variables of a worker's agent; null if the worker is not admitted. */
  environment(worker: Worker, record: GatewayRecord): Readonly<Record<string, string>> | null {
    const known = this.#accessBySlug.get(worker.slug);
    if (known === undefined) return null;
    const { endpoints, mirrors } = known.admitted;
    return this.#policy.environment(agentOf(worker), {
      url: known.url,
      token: tokenOf(record, worker.slug),
      mirrors,
      endpoints: this.#models.endpoints.filter(({ name }) => endpoints.includes(name)),
    });
  }
}

/**
 * Returns the token with which a worker identifies itself to the gateway. The token stays the same for all
 * attempts and all owners, because a running agent keeps the token that it received.
 */
function tokenOf({ secret }: GatewayRecord, slug: string): string {
  return createHmac("sha256", secret).update(slug).digest("base64url");
}

function agentOf({ request }: Pick<Worker, "request">): AgentSpec {
  return request.agent ?? { kind: "claude" };
}
