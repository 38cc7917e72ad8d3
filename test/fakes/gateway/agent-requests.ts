import type { ModelEndpoint } from "../../../src/contract/gateway.ts";

export interface AgentRequest {
  readonly api: NonNullable<ModelEndpoint["api"]>;
  readonly query: string;
  /** Names of the headers that say something to the API; not those of the connection and the key. */
  readonly headers: readonly string[];
}

const stainless = ["arch", "lang", "os", "package-version", "retry-count", "runtime", "runtime-version"];
const claude: AgentRequest = {
  ...{ api: "anthropic", query: "beta=true" },
  headers: [
    ...["accept", "anthropic-beta", "anthropic-dangerous-direct-browser-access", "anthropic-version"],
    ...["content-type", "user-agent", "x-app", "x-claude-code-session-id", "x-stainless-timeout"],
    ...stainless.map((name) => `x-stainless-${name}`),
  ],
};

/** What the agents' own programs were seen to send on 2026-11-20, against a stand-in in a network of their own. */
export const agentRequests: Readonly<Record<string, AgentRequest>> = {
  "claude 2.1.326": claude,
  "claude-agent-acp 0.99.1": claude,
  "codex-acp 2.6.0": {
    ...{ api: "openai", query: "" },
    headers: [
      ...["accept", "content-type", "originator", "session-id", "thread-id", "user-agent"],
      ...["x-client-request-id", "x-codex-beta-features", "x-codex-turn-metadata", "x-codex-window-id"],
      "x-openai-internal-codex-responses-lite",
    ],
  },
  "gemini --acp 0.61.0": {
    ...{ api: "google", query: "" },
    headers: [
      ...["accept", "accept-language", "content-type", "sec-fetch-mode", "user-agent"],
      ...["x-gemini-api-privileged-user-id", "x-goog-api-client"],
    ],
  },
  "opencode acp 1.18.33": {
    ...{ api: "google", query: "alt=sse" },
    headers: ["accept", "content-type", "user-agent", "x-session-affinity", "x-session-id"],
  },
};
