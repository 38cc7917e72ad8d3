import { createHash, timingSafeEqual } from "node:crypto";
import type {
  AdmissionPayload,
  AdmittedWorker,
  Mirror,
  ModelEndpoint,
  ModelPrice,
} from "../../src/contract/gateway.ts";

/**
 * The workers that may use the gateway, each with its models and package registries. The list comes from the
 * host's latest admission message.
 */
export interface AdmittedWorkers {
  /** Whether the host has sent an admission message since the gateway started. */
  readonly isReady: boolean;
  readonly prices: readonly ModelPrice[];
  /**
   * Finds the worker with the given token and network address. Returns null if no worker matches, or if
   * `tokens` contains more than one distinct token.
   */
  findByToken(tokens: readonly string[], address: string | null): AdmittedWorker | null;
  findEndpoint(worker: AdmittedWorker, name: string): ModelEndpoint | null;
  findMirror(worker: AdmittedWorker, name: string): Mirror | null;
  /** Returns a signal that aborts when the host withdraws the worker's permission to use the gateway. */
  revocationSignalOf(worker: AdmittedWorker): AbortSignal;
  apply(admission: AdmissionPayload): void;
}

export function createAdmittedWorkers(): AdmittedWorkers {
  let known: AdmissionPayload | null = null;
  const revocations = new Map<string, AbortController>();
  return {
    get isReady() {
      return known !== null;
    },
    get prices() {
      return known?.prices ?? [];
    },
    findByToken(tokens, address) {
      const [first = "", ...others] = tokens;
      if (first === "" || others.some((other) => other !== first)) return null;
      const shown = createHash("sha256").update(first).digest();
      const worker = known?.workers.find(({ tokenSha256 }) =>
        timingSafeEqual(Buffer.from(tokenSha256, "hex"), shown),
      );
      return worker?.address === address ? worker : null;
    },
    findEndpoint: ({ endpoints }, name) =>
      (endpoints.includes(name) && known?.endpoints.find((each) => each.name === name)) || null,
    findMirror: ({ mirrors }, name) =>
      (mirrors.includes(name) && known?.mirrors.find((each) => each.name === name)) || null,
    revocationSignalOf({ tokenSha256 }) {
      const controller = revocations.get(tokenSha256) ?? new AbortController();
      revocations.set(tokenSha256, controller);
      return controller.signal;
    },
    apply(admission) {
      known = admission;
      const present = new Set(admission.workers.map(({ tokenSha256 }) => tokenSha256));
      for (const [token, controller] of revocations) {
        if (present.has(token)) continue;
        controller.abort(new Error("The owner revoked the worker's token"));
        revocations.delete(token);
      }
    },
  };
}
