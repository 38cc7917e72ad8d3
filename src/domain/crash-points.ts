/**
 * Points, in this order, at which an owner can be killed without losing anything. Tests kill it there; outside tests
 * nothing happens at these points.
 */
export const crashPoints = [
  "before-state-init",
  "after-state-init",
  "before-image-build",
  "during-image-build",
  "during-state-write",
  "after-creating-before-create",
  "after-create-before-bundle",
  "after-create-before-record",
  "after-record-before-start",
  "after-start-before-request",
  "after-request-before-ack",
  "after-host-journal-before-ack",
  "mid-run",
  "after-checkpoint-before-collect",
  "mid-collect",
  "after-update-ref-before-record",
  "after-completion-before-record",
  "after-record-before-remove",
  "mid-remove",
  "before-owner-release",
] as const;

/** Crash points of a process that merges. */
export const mergePoints = [
  "merge-begun",
  "mid-check",
  "after-merge-check",
  "before-merge-publish",
  "after-merge-publish",
] as const;

/** Crash points of an owner that proves results. */
export const proofPoints = ["mid-check", "after-proof-checks", "after-proof-before-record"] as const;

export type CrashPoint =
  | (typeof crashPoints)[number]
  | (typeof mergePoints)[number]
  | (typeof proofPoints)[number];

/** A hook that the process calls at each point. */
export type CrashHook = (point: CrashPoint) => void;

/** The hook outside tests. */
export const noCrashHook: CrashHook = () => {};
