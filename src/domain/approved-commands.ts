/** What a word of a command line may be. */
export type WordKind =
  | "task file"
  | "worker"
  | "story"
  | "number"
  | "few"
  | "duration"
  | "event kind"
  | "swarm id";

/** What sends agents to work that call a model: on a swarm of its own, or on one that there is. The user is asked, unless their own settings set a budget. */
export type Spending = "begins" | "goes on";

/** How a command may be typed by an agent without anybody being asked. */
export interface ApprovedCommand {
  readonly spends?: Spending;
  /** What follows the flags, and how much of it. */
  readonly words: { readonly kind: WordKind; readonly least: number; readonly most: number } | null;
  /** With the kind of the word after it, or null where none belongs to it. */
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
 * What our own slash commands and skill have agents type, and nothing else: looking, and carrying out, going on with and
 * ending what task files ask for, within the settings and the budget that people wrote. Whatever lets a sandbox do more, spends more than was
 * settled, throws work away or runs a program is not here, and so a person is asked.
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

/** What each kind of word looks like, from its beginning to its end. */
export const wordForms: Readonly<Record<WordKind, RegExp>> = {
  "task file": /^\.aimi\/tasks\/[A-Za-z0-9][A-Za-z0-9._-]{0,200}-tasks\.json$/,
  worker: /^(?:@(?:failed|running|all)|[a-z0-9][a-z0-9-]{0,99})$/,
  story: /^[A-Za-z][A-Za-z0-9._-]{0,63}$/,
  number: /^[1-9][0-9]{0,3}$/,
  // More at once, or more often, costs more than anybody agreed to.
  few: /^[1-8]$/,
  duration: /^[1-9][0-9]{0,4}(?:s|m|h|d)$/,
  "event kind": /^(?:model|egress)$/,
  "swarm id": /^(?:all|[0-9a-f][0-9a-f-]{0,35})$/,
};
