// Made from schemas/gateway.schema.json by scripts/generate.ts. Change the schema, not this file.

/**
 * One line between host and gateway. The host sends `admission`, the gateway all others; a message with a `seq` is in the gateway's journal, on disk before it is sent.
 */
export type GatewayMessage =
  | Admission
  | GatewayHello
  | RenewedLogin
  | CallOpened
  | CallClosed
  | HostReached
  | Refused
  | ModelLimited
  | BudgetReached;
export type EndpointName = string;
export type Url = string;
export type GatewayCredential = HeaderCredential | LoginCredential;
export type Count = number;
/**
 * The worker's slug.
 */
export type Worker = string;
export type Seq = number;
export type Timestamp = string;
export type RefusalReason =
  | "token"
  | "not-allowed"
  | "no-name"
  | "wrong-name"
  | "not-public"
  | "not-found"
  | "not-tls"
  | "path"
  | "method"
  | "form"
  | "budget"
  | "unreachable";

/**
 * The complete configuration of the gateway: anything missing from a newer one is revoked. The gateway keeps it in memory only.
 */
export interface Admission {
  readonly type: "admission";
  readonly payload: AdmissionPayload;
}
export interface AdmissionPayload {
  /**
   * @maxItems 100
   */
  readonly endpoints: readonly ModelEndpoint[];
  /**
   * @maxItems 100
   */
  readonly mirrors: readonly Mirror[];
  /**
   * @maxItems 1000
   */
  readonly prices: readonly ModelPrice[];
  readonly budget: BudgetLimits;
  readonly spent: Spending;
  /**
   * @maxItems 1000
   */
  readonly workers: readonly AdmittedWorker[];
}
/**
 * The destination of requests below `/m/<name>/`, and their credential.
 */
export interface ModelEndpoint {
  readonly name: EndpointName;
  /**
   * The API, which determines the counting of tokens and the allowed paths. null: any path below the URL, and nothing is counted.
   */
  readonly api: "anthropic" | "openai" | "google" | null;
  readonly url: Url;
  readonly credential: GatewayCredential;
  /**
   * Request headers and query parameters that the gateway forwards in addition to those that agents are known to send.
   *
   * @maxItems 50
   */
  readonly pass?: readonly string[];
}
export interface HeaderCredential {
  readonly kind: "headers";
  /**
   * Headers that the gateway sets on each request, in place of the agent's headers of these names.
   */
  readonly headers: {
    [k: string]: string;
  };
}
/**
 * A subscription's login, which only the gateway renews.
 */
export interface LoginCredential {
  readonly kind: "login";
  readonly accessToken: string;
  readonly refreshToken: string;
  /**
   * Milliseconds since 1970.
   */
  readonly expiresAt: number;
  readonly refreshUrl: Url;
  readonly clientId: string;
}
/**
 * A package registry that workers read through the gateway, below `/r/<token>/<name>/`.
 */
export interface Mirror {
  readonly name: EndpointName;
  readonly url: Url;
  /**
   * The headers with the registry's credential.
   */
  readonly headers: {
    [k: string]: string;
  };
}
/**
 * The price of a million tokens, in US dollars, for every model whose name begins with this prefix; the longest matching prefix counts.
 */
export interface ModelPrice {
  readonly model: string;
  readonly input: number;
  readonly output: number;
  readonly cacheRead: number;
  readonly cacheWrite: number;
}
/**
 * The maximum spending; null for no limit.
 */
export interface BudgetLimits {
  readonly usd: number | null;
  readonly tokens: number | null;
}
/**
 * The spending of a call, a worker or a swarm. If the gateway's journal has less than the host knows of, the host's figures count.
 */
export interface Spending {
  readonly calls: Count;
  readonly inputTokens: Count;
  readonly outputTokens: Count;
  readonly cacheReadTokens: Count;
  readonly cacheWriteTokens: Count;
  readonly costUsd: number;
  /**
   * The tokens of models without a known price; the cost does not include them.
   */
  readonly unpricedTokens: number;
}
export interface AdmittedWorker {
  readonly worker: Worker;
  readonly tokenSha256: string;
  /**
   * The worker's network address, from which it must connect; null for a worker on the socket.
   */
  readonly address: string | null;
  /**
   * The names of the model endpoints that the worker may use.
   *
   * @maxItems 100
   */
  readonly endpoints: readonly EndpointName[];
  /**
   * The names of the mirrors that the worker may read.
   *
   * @maxItems 100
   */
  readonly mirrors: readonly EndpointName[];
  /**
   * @maxItems 1000
   */
  readonly allow: readonly AllowedHost[];
  readonly budget: BudgetLimits;
  readonly spent: Spending;
}
export interface AllowedHost {
  readonly host: string;
  readonly port: number;
}
/**
 * The gateway's first line to a host that attaches.
 */
export interface GatewayHello {
  readonly type: "hello";
  readonly version: string;
  readonly lastSeq: Count;
  /**
   * Whether the gateway has an admission; without one it answers 503.
   */
  readonly isAdmitted: boolean;
  readonly spent: Spending;
  readonly workers: {
    [k: string]: Spending;
  };
}
/**
 * A notice that a login was renewed: the old one is invalid. Not journalled.
 */
export interface RenewedLogin {
  readonly type: "login";
  readonly endpoint: EndpointName;
  readonly accessToken: string;
  readonly refreshToken: string;
  readonly expiresAt: number;
}
/**
 * A notice that a call of a model begins; its maximum cost is reserved until `closed` reports the actual one.
 */
export interface CallOpened {
  readonly seq: Seq;
  readonly at: Timestamp;
  readonly type: "opened";
  readonly worker: Worker;
  readonly endpoint: EndpointName;
  readonly method: string;
  readonly path: string;
  readonly model: string | null;
  readonly reserve: Spending;
}
export interface CallClosed {
  readonly seq: Seq;
  readonly at: Timestamp;
  readonly type: "closed";
  readonly worker: Worker;
  readonly endpoint: EndpointName;
  /**
   * The `seq` of the call's `opened`.
   */
  readonly opened: number;
  /**
   * The status of the answer; 0 without one.
   */
  readonly status: number;
  readonly model: string | null;
  readonly spent: Spending;
  /**
   * Whether `spent` is the maximum estimate, because the call or the gateway ended before the API reported the usage.
   */
  readonly isEstimated: boolean;
  /**
   * The bytes of the answer.
   */
  readonly bytesOut: number;
  readonly firstByteMs: number | null;
  readonly ms: number;
  readonly total: Spending;
}
/**
 * A notice that a tunnel to a host, or a request to a package registry, has ended.
 */
export interface HostReached {
  readonly seq: Seq;
  readonly at: Timestamp;
  readonly type: "reached";
  readonly worker: Worker;
  readonly host: string;
  readonly port: number;
  /**
   * The path that was read from a registry.
   */
  readonly path?: string;
  readonly status?: number;
  /**
   * Bytes from the sandbox.
   */
  readonly bytesIn: number;
  /**
   * Bytes to the sandbox.
   */
  readonly bytesOut: number;
  readonly ms: number;
}
/**
 * A refused request. Repetitions are merged into one message, with their number.
 */
export interface Refused {
  readonly seq: Seq;
  readonly at: Timestamp;
  readonly type: "refused";
  /**
   * The worker; null for a client without a known token.
   */
  readonly worker: Worker | null;
  /**
   * `host:port`, or method and path.
   */
  readonly what: string;
  readonly why: RefusalReason;
  readonly times: number;
}
/**
 * A notice that a model's API refuses this credential until a given time.
 */
export interface ModelLimited {
  readonly seq: Seq;
  readonly at: Timestamp;
  readonly type: "limited";
  readonly worker: Worker;
  readonly endpoint: EndpointName;
  readonly status: number;
  readonly until: Timestamp;
}
/**
 * A notice that this share of a budget is used up. At 1, the gateway refuses further calls under that budget.
 */
export interface BudgetReached {
  readonly seq: Seq;
  readonly at: Timestamp;
  readonly type: "budget";
  /**
   * The worker; null for the budget of the whole swarm.
   */
  readonly worker: Worker | null;
  readonly of: "usd" | "tokens";
  readonly limit: number;
  readonly used: number;
  readonly share: 0.8 | 1;
}
