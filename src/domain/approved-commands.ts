/** The kind of a word on a command line. */
export type WordKind =
  | "task file"
  | "worker"
  | "story"
  | "number"
  | "few"
  | "duration"
  | "event kind"
  | "swarm id";

/**
 * How a command makes agents call models: it begins a swarm, or continues the existing one. Claude Code asks the user,
 * unless the user's own settings set a budget.
 */
export type SpendingKind = "begins" | "goes on";

/** The forms of a command that an agent may run without the user's consent. */
export interface ApprovedCommand {
  readonly spends?: SpendingKind;
  /** The kind and the number of words after the flags. */
  readonly words: { readonly kind: WordKind; readonly least: number; readonly most: number } | null;
  /** The kind of each flag's value, or null for a flag without one. */
  readonly flags: Readonly<Record<string, WordKind | null>>;
}

const json = { "--json": null };
const workers = { kind: "worker", least: 0, most: 100 } as const;
const oneWorker = { kind: "worker", least: 1, most: 1 } as const;
const taskFiles = { kind: "task file", least: 0, most: 100 } as const;
const choice = { "--all": null, "--again": null, "--strict": null };
const policy = { "--fail-fast": null, "--max-attempts": "few", "--parallel": "few" } as const;
const detach = { "-d": null, "--detach": null };

/**
 * The commands that swarm's own slash commands and skill make agents run, and no others: they show a swarm, and start,
 * resume and end the tasks of task files within the user's settings and budget. Commands that give a sandbox more rights,
 * spend more than agreed, discard work or run a program are not listed, so that Claude Code asks the user.
 */
export const approvedCommands: Readonly<Record<string, ApprovedCommand>> = {
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

/** The form of each kind of word, as a whole. */
export const wordForms: Readonly<Record<WordKind, RegExp>> = {
  "task file": /^\.aimi\/tasks\/[A-Za-z0-9][A-Za-z0-9._-]{0,200}-tasks\.json$/,
  worker: /^(?:@(?:failed|running|all)|[a-z0-9][a-z0-9-]{0,99})$/,
  story: /^[A-Za-z][A-Za-z0-9._-]{0,63}$/,
  number: /^[1-9][0-9]{0,3}$/,
  // More parallel workers or more attempts would cost more than the user agreed to.
  few: /^[1-8]$/,
  duration: /^[1-9][0-9]{0,4}(?:s|m|h|d)$/,
  "event kind": /^(?:model|egress)$/,
  "swarm id": /^(?:all|[0-9a-f][0-9a-f-]{0,35})$/,
};
