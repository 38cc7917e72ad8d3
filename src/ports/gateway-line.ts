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

/** A line of a gateway's journal. */
export type GatewayEntry = CallOpened | CallClosed | HostReached | Refused | ModelLimited | BudgetReached;

/** Callbacks for a gateway's messages. */
export interface GatewayListener {
  /** Called before each connection; resolves when a gateway is running. */
  readonly ensure: (signal: AbortSignal) => Promise<void>;
  /** The current admission for the gateway; called at each hand-over, so that the gateway never gets an old one. */
  readonly admission: () => AdmissionPayload;
  readonly onHello: (hello: GatewayHello) => void;
  /** Called with each line of the journal once, in order; after a crash of this process, the last few may come twice. */
  readonly onEntry: (entry: GatewayEntry) => void;
  readonly onLogin: (login: RenewedLogin) => void;
  /** The connection broke, or failed; the host retries it. */
  readonly onLost: (why: string) => void;
}

/** The host's connection to a gateway, which reconnects whenever it breaks. */
export interface GatewayConnection extends AsyncDisposable {
  /** Sends the current admission; resolves when the gateway has it and all of its journal so far has been reported. */
  handOver(signal: AbortSignal): Promise<void>;
}
