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
} from "../domain/generated/gateway.ts";

/** An entry of a gateway's journal. */
export type GatewayJournalEntry =
  | CallOpened
  | CallClosed
  | HostReached
  | Refused
  | ModelLimited
  | BudgetReached;

/** Callbacks that the connection to a gateway calls. */
export interface GatewayListener {
  /** Makes sure that a gateway is running. Called before each connection. */
  readonly ensureRunning: (signal: AbortSignal) => Promise<void>;
  /**
   * Returns the gateway's current admission. Called each time before the connection sends an admission, so
   * that the connection never sends an outdated one.
   */
  readonly admission: () => AdmissionPayload;
  readonly onHello: (hello: GatewayHello) => void;
  /**
   * Called with each entry of the gateway's journal, in order. After a crash of this process, the last few
   * entries may come a second time.
   */
  readonly onEntry: (entry: GatewayJournalEntry) => void;
  readonly onLogin: (login: RenewedLogin) => void;
  /** Called when the connection breaks or cannot be made. The host then retries. */
  readonly onLost: (why: string) => void;
}

/** The host's connection to a gateway, which reconnects by itself. */
export interface GatewayConnection extends AsyncDisposable {
  /**
   * Sends the current admission. Resolves when the gateway has answered, and `onEntry` has received every
   * journal entry that the gateway wrote before its answer.
   */
  sendAdmission(signal: AbortSignal): Promise<void>;
}
