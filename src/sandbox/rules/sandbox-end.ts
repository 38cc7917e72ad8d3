import type { SandboxRecord } from "../../contract/sandbox-run.ts";
import { isGvisorCrash } from "../../engine/rules/process-limits.ts";

/** The state of a sandbox's container as the engine reports it. */
export type ObservedSandbox =
  | { readonly kind: "missing" }
  | { readonly kind: "created" }
  | { readonly kind: "alive" }
  | {
      readonly kind: "ended";
      readonly exitCode: number | null;
      readonly livedMs: number;
      readonly finishedAt: string;
      readonly memoryExhausted: boolean;
    };

/** The fields of a sandbox's record that swarm sets when the sandbox ends: how, when and why it ended. */
interface SandboxEnd {
  readonly status: "failed" | "timeout";
  readonly completedAt: string;
  readonly reason: { readonly code: string; readonly message: string };
}

/** The tolerated difference in milliseconds between the engine's clock and the kernel's clock. */
const toleranceMs = 1_000;

/**
 * Returns how a sandbox ended, for the sandbox's record, if its container has ended without an action of
 * this process. Returns null if the record needs no change.
 */
export function findSandboxEnd(
  record: SandboxRecord,
  observed: ObservedSandbox,
  { now, isDestroyed }: { readonly now: Date; readonly isDestroyed: boolean },
): SandboxEnd | null {
  if (hasSandboxEndedForGood(record)) return null;
  switch (observed.kind) {
    case "created":
    case "alive":
      return null;
    case "missing":
      return {
        ...failed("CONTAINER_LOST", "the sandbox's container was removed, but not by swarm"),
        completedAt: now.toISOString(),
      };
    case "ended":
      return {
        // The user may have destroyed the sandbox while a task was running in it.
        ...(isDestroyed
          ? failed("CONTAINER_ENDED", "`swarm sandbox destroy` ended the sandbox")
          : judgeEnd(record, observed)),
        completedAt: observed.finishedAt,
      };
  }
}

/** Returns whether a sandbox has ended for good, so that no further task can run in it. */
export function hasSandboxEndedForGood({
  status,
  reason,
}: Pick<SandboxRecord, "status" | "reason">): boolean {
  return (
    status === "destroyed" || status === "timeout" || (status === "failed" && endingReasons.has(reason?.code))
  );
}

/** The error codes of failures that ended the whole sandbox, not only a task in it. */
const endingReasons: ReadonlySet<string | undefined> = new Set([
  "CONTAINER_LOST",
  "CONTAINER_ENDED",
  "CONTAINER_OOM",
  "CREATION_INTERRUPTED",
  "DISK_FULL",
  "FILES_EXHAUSTED",
  "PROCESSES_EXHAUSTED",
]);

function judgeEnd(
  { ttl, ttlMs, isolation, limits }: SandboxRecord,
  { exitCode, livedMs, memoryExhausted }: Extract<ObservedSandbox, { kind: "ended" }>,
): Pick<SandboxEnd, "status" | "reason"> {
  if (ttlMs !== null && exitCode === 0 && livedMs >= ttlMs - toleranceMs)
    return {
      status: "timeout",
      reason: { code: "SANDBOX_EXPIRED", message: `the sandbox reached its time to live of ${ttl}` },
    };
  if (memoryExhausted)
    return failed(
      "CONTAINER_OOM",
      "the sandbox reached its memory limit, and the sandbox's container was ended",
    );
  if (isGvisorCrash(isolation.runtime, exitCode))
    return failed(
      "PROCESSES_EXHAUSTED",
      `the sandbox's own kernel (gVisor) ended, probably because more than ${limits.pids} processes ran`,
    );
  return failed(
    "CONTAINER_ENDED",
    `the sandbox's container was ended from outside (exit code ${exitCode ?? "unknown"})`,
  );
}

function failed(code: string, message: string): Pick<SandboxEnd, "status" | "reason"> {
  return { status: "failed", reason: { code, message } };
}
