/** The kind of a command-line argument. `argumentPatterns` has a regular expression for each kind. */
export type ArgumentKind =
  | "task file"
  | "worker"
  | "story"
  | "number"
  | "few"
  | "duration"
  | "event kind"
  | "swarm id";

/**
 * How a swarm command spends money on models: `begins` starts a new swarm, `goes on` continues the current
 * one. Claude Code asks the user before such a command, unless the user's own settings set a budget.
 */
export type CommandSpendingKind = "begins" | "goes on";

/** The flags and arguments of a swarm command that an agent may run without the user's consent. */
export interface AutoApprovedCommand {
  readonly spends?: CommandSpendingKind;
  /**
   * The kind of the arguments that are not flags, with their minimum and maximum number; null if the command
   * takes none.
   */
  readonly words: { readonly kind: ArgumentKind; readonly least: number; readonly most: number } | null;
  /** The allowed flags. Each flag is mapped to the kind of its value, or to null if it takes no value. */
  readonly flags: Readonly<Record<string, ArgumentKind | null>>;
}

const json = { "--json": null };
const workers = { kind: "worker", least: 0, most: 100 } as const;
const oneWorker = { kind: "worker", least: 1, most: 1 } as const;
const taskFiles = { kind: "task file", least: 0, most: 100 } as const;
const choice = { "--all": null, "--again": null, "--strict": null };
const policy = { "--fail-fast": null, "--max-attempts": "few", "--parallel": "few" } as const;
const detach = { "-d": null, "--detach": null };

/**
 * The swarm commands that an agent may run without the user's consent. They are the commands that swarm's
 * slash commands and skill need; none gives a sandbox more rights, spends more than agreed or discards work.
 */
export const autoApprovedCommands: Readonly<Record<string, AutoApprovedCommand>> = {
  status: { words: null, flags: { ...json, "--exit-status": null } },
  plan: { words: taskFiles, flags: { ...json, ...choice } },
  start: {
    spends: "begins",
    words: taskFiles,
    flags: { ...json, ...choice, ...policy, ...detach, "--append": null },
  },
  resume: { spends: "goes on", words: null, flags: { ...json, ...policy, ...detach } },
  retry: { spends: "goes on", words: { ...workers, least: 1 }, flags: { ...json, ...policy } },
  stop: { words: workers, flags: json },
  pause: { words: workers, flags: json },
  unpause: { spends: "goes on", words: workers, flags: json },
  wait: { words: workers, flags: { ...json, "--timeout": "duration" } },
  logs: { words: oneWorker, flags: { ...json, "--story": "story", "--attempt": "number" } },
  events: {
    words: null,
    flags: { ...json, "--worker": "worker", "--kind": "event kind", "--swarm": "swarm id" },
  },
  diff: { words: oneWorker, flags: { ...json, "--stat": null } },
  summary: { words: null, flags: { ...json, "--markdown": null } },
  cleanup: { words: workers, flags: { ...json, "--dry-run": null } },
  doctor: { words: null, flags: json },
  version: { words: null, flags: json },
};

/** The regular expression for each kind of argument. It must match the whole argument. */
export const argumentPatterns: Readonly<Record<ArgumentKind, RegExp>> = {
  "task file": /^\.aimi\/tasks\/[A-Za-z0-9][A-Za-z0-9._-]{0,200}-tasks\.json$/,
  worker: /^(?:@(?:failed|running|all)|[a-z0-9][a-z0-9-]{0,99})$/,
  story: /^[A-Za-z][A-Za-z0-9._-]{0,63}$/,
  number: /^[1-9][0-9]{0,3}$/,
  // At most 8: more parallel workers or more attempts would cost more than the user agreed to.
  few: /^[1-8]$/,
  duration: /^[1-9][0-9]{0,4}(?:s|m|h|d)$/,
  "event kind": /^(?:model|egress)$/,
  "swarm id": /^(?:all|[0-9a-f][0-9a-f-]{0,35})$/,
};
