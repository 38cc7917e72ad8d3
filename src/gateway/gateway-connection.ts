import type {
  AdmissionPayload,
  BudgetReached,
  CallClosed,
  CallOpened,
  GatewayHello,
  HostReached,
  ModelLimited,
  Refused,
  RenewedLogin,
} from "../contract/gateway.ts";

/** An entry of the gateway's journal. */
export type GatewayJournalEntry =
  | CallOpened
  | CallClosed
  | HostReached
  | Refused
  | ModelLimited
  | BudgetReached;

/** The callbacks of the host's connection to a gateway. */
export interface GatewayListener {
  /** Starts the gateway unless it is running. Called before each attempt to connect. */
  readonly ensureRunning: (signal: AbortSignal) => Promise<void>;
  /**
   * Returns the current admission, which tells the gateway what agents may use. Called each time before the
   * host sends the admission, so that the gateway never gets an outdated one.
   */
  readonly admission: () => AdmissionPayload;
  readonly onHello: (hello: GatewayHello) => void;
  /**
   * Called with each entry of the gateway's journal, in order. After a crash of the host, the last few
   * entries may come again.
   */
  readonly onEntry: (entry: GatewayJournalEntry) => void;
  readonly onLogin: (login: RenewedLogin) => void;
  /** Called when the connection to the gateway breaks or fails. The host then reconnects. */
  readonly onLost: (why: string) => void;
}

/** The host's connection to a gateway. After a failure, the host reconnects automatically. */
export interface GatewayConnection extends AsyncDisposable {
  /**
   * Sends the current admission to the gateway. Resolves when the gateway has answered, and `onEntry` has
   * received every journal entry that precedes the answer.
   */
  sendAdmission(signal: AbortSignal): Promise<void>;
}
