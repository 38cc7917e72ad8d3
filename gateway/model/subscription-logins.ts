import type { LoginCredential, ModelEndpoint, RenewedLogin } from "../../src/contract/gateway.ts";
import { readOwnMember } from "../usage/read-usage.ts";

/**
 * Thrown if the gateway cannot renew a subscription's login. If `isFinal` is true, no retry helps, and the
 * user must log in again.
 */
export class LoginRenewalError extends Error {
  readonly isFinal: boolean;

  constructor(message: string, isFinal: boolean) {
    super(message);
    this.isFinal = isFinal;
  }
}

/**
 * The current logins of model subscriptions. Concurrent callers that need a renewal of the same login share
 * one renewal.
 */
export interface SubscriptionLogins {
  /** Returns the access token of a login. If the token is about to expire, renews it first. */
  token(endpoint: ModelEndpoint, login: LoginCredential): Promise<string>;
  /**
   * Returns a new access token in place of the token `refused`, which the API refused. Returns null if the
   * login server issues the refused token again.
   */
  renewed(endpoint: ModelEndpoint, login: LoginCredential, refused: string): Promise<string | null>;
  /** The logins that this gateway process has renewed. The gateway reports them to the host. */
  readonly renewals: readonly RenewedLogin[];
}

/** The tokens of a login. */
type LoginTokens = Pick<LoginCredential, "accessToken" | "refreshToken" | "expiresAt">;

/** The newest login of an endpoint. */
interface StoredLogin {
  readonly login: LoginTokens;
  /**
   * All refresh tokens that the gateway has seen. If the host sends a login with one of these tokens, the
   * gateway keeps its own login, which is newer.
   */
  readonly known: ReadonlySet<string>;
  /** Whether this gateway process has renewed the login. */
  readonly isRenewed: boolean;
}

const marginMs = 60_000;
const answerMs = 30_000;
/**
 * The user agent of Claude Code. The gateway sends it when it renews a login, because the login server
 * refuses other clients.
 */
const userAgent = "claude-cli/2.1.326 (external, cli)";

export function createSubscriptionLogins(
  now: () => number,
  onRenewed: (renewal: RenewedLogin) => void,
): SubscriptionLogins {
  const storedByName = new Map<string, StoredLogin>();
  const renewing = new Map<string, Promise<LoginTokens>>();

  function present({ name }: ModelEndpoint, login: LoginCredential): LoginTokens {
    const stored = storedByName.get(name);
    if (stored?.known.has(login.refreshToken)) return stored.login;
    store(name, login, false);
    return login;
  }

  function store(name: string, login: LoginTokens, isRenewed: boolean): void {
    const known = storedByName.get(name)?.known ?? [];
    storedByName.set(name, { login, known: new Set([...known, login.refreshToken]), isRenewed });
  }

  function renew(endpoint: ModelEndpoint, login: LoginCredential): Promise<LoginTokens> {
    const { name } = endpoint;
    const running = renewing.get(name);
    if (running) return running;
    const renewal = ask(login, present(endpoint, login).refreshToken, now)
      .then((renewed) => {
        store(name, renewed, true);
        onRenewed({ type: "login", endpoint: name, ...renewed });
        return renewed;
      })
      .finally(() => renewing.delete(name));
    renewing.set(name, renewal);
    return renewal;
  }

  return {
    async token(endpoint, login) {
      const stored = present(endpoint, login);
      if (stored.expiresAt - now() > marginMs) return stored.accessToken;
      return (await renew(endpoint, login)).accessToken;
    },
    async renewed(endpoint, login, refused) {
      const stored = present(endpoint, login);
      // A concurrent call has already renewed the refused token.
      if (stored.accessToken !== refused) return stored.accessToken;
      const { accessToken } = await renew(endpoint, login);
      return accessToken === refused ? null : accessToken;
    },
    get renewals() {
      return [...storedByName].flatMap(([endpoint, { login, isRenewed }]) =>
        isRenewed ? [{ type: "login" as const, endpoint, ...login }] : [],
      );
    },
  };
}

async function ask(
  { refreshUrl, clientId }: LoginCredential,
  refreshToken: string,
  now: () => number,
): Promise<LoginTokens> {
  let answer: Response;
  try {
    answer = await fetch(refreshUrl, {
      method: "POST",
      redirect: "error",
      signal: AbortSignal.timeout(answerMs),
      headers: { "content-type": "application/json", "user-agent": userAgent },
      body: JSON.stringify({ grant_type: "refresh_token", refresh_token: refreshToken, client_id: clientId }),
    });
  } catch {
    throw new LoginRenewalError(
      "the gateway cannot renew the login: the login server does not answer",
      false,
    );
  }
  const body: unknown = await answer.json().catch(() => null);
  if (!answer.ok)
    throw new LoginRenewalError(
      `the gateway cannot renew the login: the login server answered ${answer.status}`,
      answer.status < 500 && answer.status !== 429,
    );
  const accessToken = readOwnMember(body, "access_token");
  const next = readOwnMember(body, "refresh_token");
  const seconds = readOwnMember(body, "expires_in");
  if (typeof accessToken !== "string" || accessToken === "")
    throw new LoginRenewalError(
      "the gateway cannot renew the login: the login server's answer contains no token",
      false,
    );
  return {
    accessToken,
    refreshToken: typeof next === "string" && next !== "" ? next : refreshToken,
    expiresAt: now() + (typeof seconds === "number" && seconds > 0 ? seconds * 1000 : 3_600_000),
  };
}
