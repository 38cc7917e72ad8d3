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

/** Who hears what a gateway says. */
export interface GatewayListener {
  /** Asked before each connection: resolves when there is a gateway to be joined. */
  readonly ensure: (signal: AbortSignal) => Promise<void>;
  /** What the gateway is to know now; asked for at each hand-over, so that nobody is told what is over. */
  readonly admission: () => AdmissionPayload;
  readonly onHello: (hello: GatewayHello) => void;
  /** Each line of the journal once, in order; after a crash of this process perhaps the last few twice. */
  readonly onEntry: (entry: GatewayEntry) => void;
  readonly onLogin: (login: RenewedLogin) => void;
  /** The connection broke, or could not be made; it is tried again. */
  readonly onLost: (why: string) => void;
}

/** The host's line to a gateway, made again as often as it breaks. */
export interface GatewayLine extends AsyncDisposable {
  /** Hands over what it is to know now; resolves when the gateway knows it, and all that it had written down is told. */
  handOver(signal: AbortSignal): Promise<void>;
}
