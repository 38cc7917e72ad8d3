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
   * Returns the gateway's current admission. Called at each hand-over, so that the gateway never gets an
   * outdated admission.
   */
  readonly admission: () => AdmissionPayload;
  readonly onHello: (hello: GatewayHello) => void;
  /**
   * Called once with each entry of the journal, in order. If this process crashed, the last few entries may
   * come again.
   */
  readonly onEntry: (entry: GatewayJournalEntry) => void;
  readonly onLogin: (login: RenewedLogin) => void;
  /** Called when the connection broke or could not be made. The host then tries again. */
  readonly onLost: (why: string) => void;
}

/** The host's connection to a gateway. It reconnects by itself after each break. */
export interface GatewayConnection extends AsyncDisposable {
  /**
   * Sends the current admission. Resolves when the gateway has it and `onEntry` got every journal entry up to
   * now.
   */
  sendAdmission(signal: AbortSignal): Promise<void>;
}
