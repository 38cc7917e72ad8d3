/**
 * The crash points: places in the owner, the process that runs a swarm, at which tests kill it and check
 * that nothing is lost. They are listed in the order in which the owner reaches them. Outside tests, they
 * have no effect.
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

/** The crash points of the process that runs `swarm merge`. */
export const mergeCrashPoints = [
  "merge-begun",
  "mid-check",
  "after-merge-check",
  "before-merge-publish",
  "after-merge-publish",
] as const;

/** The crash points of an owner while it checks workers' results again in fresh sandboxes. */
export const proofCrashPoints = ["mid-check", "after-proof-checks", "after-proof-before-record"] as const;

/** `owner-loop-begins` is no place for a kill: there a test takes the stack of the owner. */
export type CrashPoint =
  | "owner-loop-begins"
  | (typeof crashPoints | typeof mergeCrashPoints | typeof proofCrashPoints)[number];

/** A function that a process calls at each crash point. */
export type CrashHook = (point: CrashPoint) => void;

/** The function for crash points outside tests, which does nothing. */
export const noCrashHook: CrashHook = () => {};
