import type { AgentSpec } from "../agents/agent-credentials.ts";
import { type EndpointPlan, endpointNamesForAgent } from "../agents/model-endpoints.ts";
import type { ModelEndpoint, RenewedLogin } from "../contract/gateway.ts";
import type { GatewayDeps } from "./gateway-deps.ts";

/** The model endpoints that a swarm's agents call, with their credentials. */
export interface SwarmModelEndpoints {
  readonly endpoints: readonly ModelEndpoint[];
  /** Adds the endpoints that the given agent calls. */
  addAgent(agent: AgentSpec): Promise<void>;
  /** Returns the names of the endpoints that the given agent may call. */
  namesOf(agent: AgentSpec): string[];
  /**
   * Stores a model login that the gateway renewed, so that a gateway started later does not get the old
   * login.
   */
  storeLogin(login: RenewedLogin): void;
  /** Returns whether a request that the gateway refused was for the host of one of the model endpoints. */
  isHost(what: string): boolean;
}

export function createSwarmModelEndpoints({
  policy,
  secrets,
}: Pick<GatewayDeps, "policy" | "secrets">): SwarmModelEndpoints {
  // All agents added so far, and the plans of their endpoints.
  const agents = new Map<string, AgentSpec>();
  let plans: readonly EndpointPlan[] = [];
  let endpoints: readonly ModelEndpoint[] = [];
  // The last call of `add`, so that calls run one after the other. Otherwise the earlier of two concurrent
  // calls could finish last and overwrite the endpoints of the later call.
  let turn: Promise<unknown> = Promise.resolve();

  async function add(agent: AgentSpec): Promise<void> {
    const key = JSON.stringify(agent);
    if (agents.has(key)) return;
    const planned = policy.planEndpoints([...agents.values(), agent]);
    // Resolves only new plans: a known endpoint may have a renewed login by now, which its secret does not
    // contain.
    const isKnown = (plan: EndpointPlan): boolean => plans.some((known) => isSame(known, plan));
    const resolved = await secrets.resolve(planned.filter((plan) => !isKnown(plan)));
    const all = [...resolved, ...endpoints];
    endpoints = planned.flatMap(({ name }) => all.find((endpoint) => endpoint.name === name) ?? []);
    plans = planned;
    agents.set(key, agent);
  }

  return {
    get endpoints() {
      return endpoints;
    },
    addAgent(agent) {
      const learned = turn.then(() => add(agent));
      turn = learned.catch(() => {});
      return learned;
    },
    namesOf: (agent) => endpointNamesForAgent(agent, plans),
    storeLogin(login) {
      const { endpoint: name, accessToken, refreshToken, expiresAt } = login;
      const plan = plans.find((each) => each.name === name);
      endpoints = endpoints.map((each) =>
        each.name === name && each.credential.kind === "login"
          ? { ...each, credential: { ...each.credential, accessToken, refreshToken, expiresAt } }
          : each,
      );
      if (plan?.credential.kind === "login") secrets.storeLogin(plan.credential.reference, login);
    },
    isHost: (what) =>
      endpoints.some(({ url }) => what.replace(/^CONNECT /, "").split(":")[0] === new URL(url).hostname),
  };
}

/** Returns whether two planned endpoints are equal. Ignores which agents call them. */
function isSame(one: EndpointPlan, other: EndpointPlan): boolean {
  return JSON.stringify({ ...one, agents: null }) === JSON.stringify({ ...other, agents: null });
}
