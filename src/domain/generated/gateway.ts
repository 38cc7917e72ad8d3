// Made from schemas/gateway.schema.json by scripts/generate.ts. Change the schema, not this file.

/**
 * One line between host and gateway. `admission` goes to the gateway, the rest comes from it; what has a `seq` is in its journal, on the disk before it is told.
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
 * Its slug.
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
 * Everything that the gateway is to know, whole: what is not in it any more is revoked. It is kept in memory only.
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
 * Where requests below `/m/<name>/` go, and what lets them in there.
 */
export interface ModelEndpoint {
  readonly name: EndpointName;
  /**
   * Whose words it speaks: how its tokens are counted and which paths it has. null: any path below the address, and nothing is counted.
   */
  readonly api: "anthropic" | "openai" | "google" | null;
  readonly url: Url;
  readonly credential: GatewayCredential;
  /**
   * Request headers and query parameters that go on to the API beside those that agents are known to send.
   *
   * @maxItems 50
   */
  readonly pass?: readonly string[];
}
export interface HeaderCredential {
  readonly kind: "headers";
  /**
   * Set on each request, in place of what the agent sent under these names.
   */
  readonly headers: {
    [k: string]: string;
  };
}
/**
 * A subscription's login, renewed here and nowhere else.
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
 * A registry of packages that is read through the gateway, below `/r/<token>/<name>/`.
 */
export interface Mirror {
  readonly name: EndpointName;
  readonly url: Url;
  /**
   * What lets one in there.
   */
  readonly headers: {
    [k: string]: string;
  };
}
/**
 * US dollars for a million tokens of every model whose name begins like this; the longest beginning counts.
 */
export interface ModelPrice {
  readonly model: string;
  readonly input: number;
  readonly output: number;
  readonly cacheRead: number;
  readonly cacheWrite: number;
}
/**
 * The most that may be spent; null for no limit.
 */
export interface BudgetLimits {
  readonly usd: number | null;
  readonly tokens: number | null;
}
/**
 * Of a call, a worker or a swarm. What the host knows to have been spent counts where the gateway's own journal knows less.
 */
export interface Spending {
  readonly calls: Count;
  readonly inputTokens: Count;
  readonly outputTokens: Count;
  readonly cacheReadTokens: Count;
  readonly cacheWriteTokens: Count;
  readonly costUsd: number;
  /**
   * Those of models that no price is known of; they are not in the cost.
   */
  readonly unpricedTokens: number;
}
export interface AdmittedWorker {
  readonly worker: Worker;
  readonly tokenSha256: string;
  /**
   * Where it must come from; null where it comes through a socket.
   */
  readonly address: string | null;
  /**
   * Names of those that it may use.
   *
   * @maxItems 100
   */
  readonly endpoints: readonly EndpointName[];
  /**
   * Names of those that it may read.
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
 * The first line for who attaches.
 */
export interface GatewayHello {
  readonly type: "hello";
  readonly version: string;
  readonly lastSeq: Count;
  /**
   * Whether it has credentials; without, it answers 503.
   */
  readonly isAdmitted: boolean;
  readonly spent: Spending;
  readonly workers: {
    [k: string]: Spending;
  };
}
/**
 * A login was renewed: the old one is worth nothing any more. In no journal.
 */
export interface RenewedLogin {
  readonly type: "login";
  readonly endpoint: EndpointName;
  readonly accessToken: string;
  readonly refreshToken: string;
  readonly expiresAt: number;
}
/**
 * A model is about to be called; what it may cost at most counts until `closed` tells what it did.
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
   * The number of its `opened`.
   */
  readonly opened: number;
  /**
   * 0: no answer came.
   */
  readonly status: number;
  readonly model: string | null;
  readonly spent: Spending;
  /**
   * It broke off before it told what it took, or the gateway did: the most that it may have been.
   */
  readonly isEstimated: boolean;
  /**
   * Of the answer.
   */
  readonly bytesOut: number;
  readonly firstByteMs: number | null;
  readonly ms: number;
  readonly total: Spending;
}
/**
 * A tunnel to a host, or a package registry, was used and has ended.
 */
export interface HostReached {
  readonly seq: Seq;
  readonly at: Timestamp;
  readonly type: "reached";
  readonly worker: Worker;
  readonly host: string;
  readonly port: number;
  /**
   * What was read of a registry.
   */
  readonly path?: string;
  readonly status?: number;
  /**
   * From the sandbox.
   */
  readonly bytesIn: number;
  /**
   * Into the sandbox.
   */
  readonly bytesOut: number;
  readonly ms: number;
}
/**
 * Something was asked for that is not allowed. Of the same again and again, only now and then one is told, with how many there were.
 */
export interface Refused {
  readonly seq: Seq;
  readonly at: Timestamp;
  readonly type: "refused";
  /**
   * null for who showed no token that is known.
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
 * A model's API takes no more from this credential for a while.
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
 * So much of a budget is used up. At 1, the door is shut for whom it holds.
 */
export interface BudgetReached {
  readonly seq: Seq;
  readonly at: Timestamp;
  readonly type: "budget";
  /**
   * null for the whole swarm's.
   */
  readonly worker: Worker | null;
  readonly of: "usd" | "tokens";
  readonly limit: number;
  readonly used: number;
  readonly share: 0.8 | 1;
}
