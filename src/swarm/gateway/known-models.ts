import type { NamedAgent } from "../../domain/agent-credentials.ts";
import type { ModelEndpoint, RenewedLogin } from "../../domain/generated/gateway.ts";
import { type EndpointPlan, endpointsOf } from "../../domain/model-endpoints.ts";
import type { GatewayDeps } from "./gateway-deps.ts";

/** What the agents of a swarm call, with what lets them in there. */
export interface KnownModels {
  readonly endpoints: readonly ModelEndpoint[];
  /** Resolves when it is known what this agent calls. */
  learn(agent: NamedAgent): Promise<void>;
  /** Names of what it may call. */
  namesOf(agent: NamedAgent): string[];
  /** A gateway that is made anew must not begin with a login that was renewed since. */
  keepLogin(login: RenewedLogin): void;
  /** Whether a request was for a host that some agent's models are at. */
  isHost(what: string): boolean;
}

export function knownModels({
  planEndpoints,
  resolve,
  keepLogin,
}: Pick<GatewayDeps, "planEndpoints" | "resolve" | "keepLogin">): KnownModels {
  // All that have come so far, and what they call.
  const agents = new Map<string, NamedAgent>();
  let plans: readonly EndpointPlan[] = [];
  let endpoints: readonly ModelEndpoint[] = [];
  // Of two that resolve at once, the first to come might be the last to be done, and know less.
  let turn: Promise<unknown> = Promise.resolve();

  async function add(agent: NamedAgent): Promise<void> {
    const key = JSON.stringify(agent);
    if (agents.has(key)) return;
    const planned = planEndpoints([...agents.values(), agent]);
    // A secret that was read once may have been renewed since: it is not read again.
    const isKnown = (plan: EndpointPlan): boolean => plans.some((known) => isSame(known, plan));
    const resolved = await resolve(planned.filter((plan) => !isKnown(plan)));
    const all = [...resolved, ...endpoints];
    endpoints = planned.flatMap(({ name }) => all.find((endpoint) => endpoint.name === name) ?? []);
    plans = planned;
    agents.set(key, agent);
  }

  return {
    get endpoints() {
      return endpoints;
    },
    learn(agent) {
      const learned = turn.then(() => add(agent));
      turn = learned.catch(() => {});
      return learned;
    },
    namesOf: (agent) => endpointsOf(agent, plans),
    keepLogin(login) {
      const { endpoint: name, accessToken, refreshToken, expiresAt } = login;
      const plan = plans.find((each) => each.name === name);
      endpoints = endpoints.map((each) =>
        each.name === name && each.credential.kind === "login"
          ? { ...each, credential: { ...each.credential, accessToken, refreshToken, expiresAt } }
          : each,
      );
      if (plan?.credential.kind === "login") keepLogin(plan.credential.reference, login);
    },
    isHost: (what) =>
      endpoints.some(({ url }) => what.replace(/^CONNECT /, "").split(":")[0] === new URL(url).hostname),
  };
}

/** Whoever else calls it. */
function isSame(one: EndpointPlan, other: EndpointPlan): boolean {
  return JSON.stringify({ ...one, agents: null }) === JSON.stringify({ ...other, agents: null });
}
