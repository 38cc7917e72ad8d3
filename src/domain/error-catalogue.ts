import { countOf } from "./count-of.ts";
import { type ErrorEntry, entry } from "./error-entry.ts";
import { exitCodes } from "./exit-codes.ts";
import { type SourceLocation, showLocation } from "./place.ts";
import { type SandboxErrorFacts, sandboxCatalogue } from "./sandbox-error-catalogue.ts";

/** The facts of each error, by the error's code. `catalogue` makes the messages from them. */
export interface ErrorFacts extends SandboxErrorFacts {
  // Errors in the command line
  USAGE: { readonly message: string };
  INVALID_VALUE: { readonly name: string; readonly value: string; readonly expected: string };
  WOULD_ASK: { readonly question: string; readonly flag: string };
  // Errors in the repository, in task files and in settings
  NOT_A_REPOSITORY: { readonly folder: string };
  FILE_UNREADABLE: { readonly place: SourceLocation; readonly reason: string };
  FILE_TOO_LARGE: { readonly place: SourceLocation; readonly bytes: number; readonly limit: number };
  JSON_INVALID: { readonly place: SourceLocation; readonly problem: string };
  TASK_FILE_INVALID: {
    readonly place: SourceLocation;
    readonly problem: string;
    readonly more: number;
    readonly hint: string;
  };
  TASK_FILE_NOT_FOUND: { readonly file: string; readonly folder: string };
  TASK_FILE_OUTSIDE: { readonly file: string; readonly folder: string };
  TASK_FILE_REFUSED: { readonly place: SourceLocation; readonly problem: string };
  SETTINGS_INVALID: { readonly place: SourceLocation; readonly problem: string; readonly hint: string };
  UNTRUSTED: { readonly place: SourceLocation; readonly field: string; readonly why: string };
  FILE_UNWRITABLE: { readonly file: string; readonly reason: string };
  // Errors of the state file, of locks and of workers' records
  STATE_MISSING: { readonly file: string };
  WORKERS_MISSING: { readonly swarmId: string };
  STATE_EXISTS: { readonly file: string; readonly swarmId: string };
  STATE_INVALID: { readonly place: SourceLocation; readonly problem: string };
  STATE_LOST: { readonly containers: number };
  STATE_WRITE_FAILED: { readonly file: string; readonly reason: string; readonly holds: "old" | "new" };
  LOCK_TIMEOUT: { readonly file: string; readonly holder: string; readonly waitedMs: number };
  LOCK_LOST: { readonly file: string };
  OWNED_BY_ANOTHER: { readonly holder: string };
  OWNER_ENDED: { readonly log: string; readonly how: string };
  CONTAINER_UNKNOWN: { readonly name: string };
  CONTAINER_EXISTS: { readonly what: string };
  WORKER_UNKNOWN: { readonly word: string; readonly known: readonly string[] };
  TRANSITION_REFUSED: {
    readonly name: string;
    readonly from: string;
    readonly to: string;
    readonly allowed: readonly string[];
  };
  PROJECT_MOVED: { readonly was: string; readonly is: string };
  PROJECT_COPIED: { readonly original: string };
  FILE_FAILED: { readonly file: string; readonly reason: string };
  // Errors of this machine: the engine, git, Claude Code, cron
  NODE_TOO_OLD: { readonly version: string };
  CLAUDE_MISSING: { readonly folder: string };
  CLAUDE_FAILED: { readonly command: string; readonly reason: string };
  ENGINE_UNREACHABLE: { readonly tried: readonly string[] };
  ENGINE_CHANGED: { readonly endpoint: string; readonly recorded: string; readonly found: string };
  ENGINE_FAILED: { readonly operation: string; readonly reason: string };
  ENGINE_UNSUPPORTED: { readonly system: string; readonly reason: string };
  ENGINE_START_FAILED: { readonly reason: string; readonly log: string };
  ENGINE_STOP_FAILED: { readonly reason: string; readonly log: string };
  PACKAGES_NOT_INSTALLED: { readonly packages: readonly string[]; readonly reason: string };
  GIT_FAILED: { readonly command: string; readonly reason: string };
  SCHEDULER_MISSING: Record<never, never>;
  SCHEDULE_FAILED: { readonly action: "read" | "written"; readonly reason: string };
  BRANCH_REFUSED: { readonly branch: string; readonly reason: string };
}

const { usage, environment, locked, conflict } = exitCodes;

/** All expected errors, each with its exit code, its message, and a hint what the user can do next. */
export const catalogue: { readonly [Code in keyof ErrorFacts]: ErrorEntry<ErrorFacts[Code]> } = {
  // Errors in the command line
  USAGE: entry(
    usage,
    (f) => f.message,
    () => "Run `swarm help` for the commands and their flags.",
  ),
  INVALID_VALUE: entry(
    usage,
    (f) => `${f.name} cannot be ${JSON.stringify(f.value)}`,
    (f) => `Expected: ${f.expected}.`,
  ),
  WOULD_ASK: entry(
    usage,
    (f) => `There is no terminal to ask on: ${f.question}`,
    (f) => `Add ${f.flag}.`,
  ),

  // Errors in the repository, in task files and in settings
  NOT_A_REPOSITORY: entry(
    usage,
    (f) => `${f.folder} is not in a git repository`,
    () => "Go into a repository, or make one with `git init`.",
  ),
  FILE_UNREADABLE: entry(
    usage,
    (f) => `${showLocation(f.place)} cannot be read: ${f.reason}`,
    () => "Check the path and its permissions.",
  ),
  FILE_TOO_LARGE: entry(
    usage,
    (f) => `${showLocation(f.place)} has ${f.bytes} bytes; at most ${f.limit} are accepted`,
    () => "Split it into smaller files.",
  ),
  JSON_INVALID: entry(
    usage,
    (f) => `${showLocation(f.place)}: ${f.problem}`,
    () => "Correct the JSON at this place.",
  ),
  TASK_FILE_INVALID: entry(
    usage,
    (f) =>
      `${showLocation(f.place)}: ${f.problem}${f.more > 0 ? ` (and ${countOf(f.more, "more problem")})` : ""}`,
    (f) => f.hint,
  ),
  TASK_FILE_NOT_FOUND: entry(
    usage,
    (f) => `There is no task file ${f.file}`,
    (f) =>
      `Task files are ${f.folder}/*-tasks.json; \`swarm plan\` lists them, \`swarm init\` writes an example.`,
  ),
  TASK_FILE_OUTSIDE: entry(
    usage,
    (f) => `${f.file} does not lie in ${f.folder}`,
    (f) => `Move the file into ${f.folder}; links that lead out of it are not followed.`,
  ),
  TASK_FILE_REFUSED: entry(
    usage,
    (f) => `${showLocation(f.place)}: ${f.problem}`,
    () => "Remove the text, or leave out --strict to go on with a warning.",
  ),
  SETTINGS_INVALID: entry(
    usage,
    (f) => `${showLocation(f.place)}: ${f.problem}`,
    (f) => f.hint,
  ),
  UNTRUSTED: entry(
    usage,
    (f) => `${showLocation(f.place)}: ${f.field} ${f.why}, and this file is not trusted`,
    () => "Read the file, then run `swarm trust`; any later change asks again.",
  ),
  FILE_UNWRITABLE: entry(
    environment,
    (f) => `${f.file} could not be written: ${f.reason}`,
    () => "Check the folder's permissions and the free disk space.",
  ),

  // Errors of the state file, of locks and of workers' records
  STATE_MISSING: entry(
    usage,
    (f) => `There is no swarm here: ${f.file} does not exist`,
    () => "`swarm start --all` begins one with the task files that are here.",
  ),
  WORKERS_MISSING: entry(
    usage,
    (f) => `Swarm ${f.swarmId} has no workers, so there is nothing to resume`,
    () => "`swarm start --all` carries out the task files that are here.",
  ),
  STATE_EXISTS: entry(
    conflict,
    (f) => `${f.file} already holds swarm ${f.swarmId}`,
    () => "`swarm state init --force` archives it below .aimi/swarms/ and starts anew.",
  ),
  STATE_INVALID: entry(
    environment,
    (f) => `${showLocation(f.place)} is not a valid state file: ${f.problem}. It was left untouched`,
    () => "`swarm state repair` rebuilds it and keeps this one below .aimi/swarms/.",
  ),
  STATE_LOST: entry(
    environment,
    (f) => `The state file and its copy are gone, but ${f.containers} containers of this project are there`,
    () => "`swarm state repair` rebuilds the state from them.",
  ),
  STATE_WRITE_FAILED: entry(
    environment,
    (f) =>
      f.holds === "old"
        ? `${f.file} could not be written and keeps its old content: ${f.reason}`
        : `${f.file} has its new content, which a power failure could still undo: ${f.reason}`,
    (f) =>
      /ENOSPC|EDQUOT/.test(f.reason)
        ? "Free some disk space, then run the command again."
        : "Fix the cause, then run the command again.",
  ),
  LOCK_TIMEOUT: entry(
    locked,
    (f) => `${f.file} is locked by ${f.holder}; gave up after ${Math.round(f.waitedMs / 100) / 10} s`,
    () => "Wait for it to finish, or end that process; the lock goes with it.",
  ),
  LOCK_LOST: entry(
    locked,
    (f) => `The lock ${f.file} no longer belongs to this process; nothing was written`,
    () => "Run the command again.",
  ),
  OWNED_BY_ANOTHER: entry(
    locked,
    (f) => `Another process acts on this swarm: ${f.holder}`,
    () => "Wait for it to finish, or end that process.",
  ),
  OWNER_ENDED: entry(
    environment,
    (f) => `The process in the background ended before its swarm had begun (${f.how})`,
    (f) => `Its log is ${f.log}.`,
  ),
  CONTAINER_UNKNOWN: entry(
    usage,
    (f) => `The swarm has no container ${f.name}`,
    () => "`swarm state list` shows the names.",
  ),
  CONTAINER_EXISTS: entry(
    conflict,
    (f) => `The swarm already has ${f.what}`,
    () => "`swarm state list` shows the names; `swarm state remove` drops one.",
  ),
  WORKER_UNKNOWN: entry(
    usage,
    (f) => `${JSON.stringify(f.word)} does not name one worker of this swarm`,
    (f) => `Name one of: ${f.known.slice(0, 20).join(", ") || "none, the swarm is empty"}.`,
  ),
  TRANSITION_REFUSED: entry(
    conflict,
    (f) => `${f.name} is ${f.from} and cannot become ${f.to}`,
    (f) =>
      f.allowed.length > 0 ? `From ${f.from} it can become: ${f.allowed.join(", ")}.` : `${f.from} is final.`,
  ),
  PROJECT_MOVED: entry(
    conflict,
    (f) => `This project was known at ${f.was} and is now at ${f.is}`,
    () =>
      "`swarm state repair --moved` if it was moved, `--copied` if this is a copy that needs an identity of its own.",
  ),

  PROJECT_COPIED: entry(
    conflict,
    (f) => `The project that this one was copied from is still at ${f.original}, so it was not moved`,
    () => "`swarm state repair --copied` gives this one an identity of its own.",
  ),
  FILE_FAILED: entry(
    environment,
    (f) => `${f.file} cannot be used: ${f.reason}`,
    () => "Check what lies there, its permissions and the free disk space.",
  ),

  // Errors of this machine: the engine, git, Claude Code, cron
  CLAUDE_MISSING: entry(
    environment,
    () => "there is no `claude` on the PATH to install the plugin in",
    (f) =>
      `Install Claude Code, or type in it: /plugin marketplace add ${f.folder}, /plugin install aimi@aimi`,
  ),
  CLAUDE_FAILED: entry(
    environment,
    (f) => `claude ${f.command} failed: ${f.reason}`,
    () => "Type that command yourself; `swarm plugin validate` checks the plugin.",
  ),
  NODE_TOO_OLD: entry(
    environment,
    (f) => `swarm needs Node 24.15 or newer; this is ${f.version}`,
    () => "Install Node 24, or run it inside a clone where `npm ci` has brought its own.",
  ),
  ENGINE_UNREACHABLE: entry(
    environment,
    (f) => `No container engine answers (${f.tried.join("; ") || "none was found"})`,
    () =>
      "`swarm engine start` starts a private one on Linux; `swarm doctor` shows what was tried and why it was refused.",
  ),
  ENGINE_CHANGED: entry(
    environment,
    (f) => `The engine at ${f.endpoint} is ${f.found}, but this swarm belongs to ${f.recorded}`,
    () => "Point DOCKER_HOST back at the engine of this swarm.",
  ),
  ENGINE_FAILED: entry(
    environment,
    (f) => `The engine could not ${f.operation}: ${f.reason}`,
    () => "`swarm doctor` checks the engine.",
  ),
  ENGINE_UNSUPPORTED: entry(
    environment,
    (f) => `No private engine can be started on ${f.system}: ${f.reason}`,
    (f) => installHint(f.system),
  ),
  ENGINE_START_FAILED: entry(
    environment,
    (f) => `The private engine did not start: ${f.reason}`,
    (f) => `Its log is ${f.log}.`,
  ),
  ENGINE_STOP_FAILED: entry(
    environment,
    (f) => `The private engine did not stop: ${f.reason}`,
    (f) => `Its log is ${f.log}.`,
  ),
  PACKAGES_NOT_INSTALLED: entry(
    environment,
    (f) => `${f.packages.join(", ")} could not be installed: ${f.reason}`,
    (f) => `Install them by hand: apt-get install --no-install-recommends ${f.packages.join(" ")}`,
  ),
  GIT_FAILED: entry(
    environment,
    (f) => `\`git ${f.command}\` failed: ${f.reason}`,
    () => "Run the git command yourself to see more.",
  ),
  SCHEDULER_MISSING: entry(
    environment,
    () => "there is no `crontab` on this machine",
    () => "Install cron (`apt-get install cron`), or use one of the other ways in docs/nightly.md.",
  ),
  SCHEDULE_FAILED: entry(
    environment,
    (f) => `the crontab could not be ${f.action}: ${f.reason}`,
    () => "Try `crontab -l` yourself; /etc/cron.allow and cron.deny say who may have one.",
  ),
  BRANCH_REFUSED: entry(
    conflict,
    (f) => `the branch ${f.branch} cannot take the results: ${f.reason}`,
    () => "Name another one with `--into`, or go to another branch first.",
  ),

  ...sandboxCatalogue,
};

function installHint(system: string): string {
  switch (system) {
    case "darwin":
      return "Install Docker Desktop, OrbStack or Colima (`brew install colima docker && colima start`).";
    case "win32":
      return "Run swarm inside WSL 2, where `apt-get install docker.io` or Docker Desktop provides an engine.";
    case "fedora":
    case "rhel":
    case "centos":
      return "As root: `dnf install moby-engine && systemctl enable --now docker`, or use Podman's Docker socket.";
    case "arch":
      return "As root: `pacman -S docker && systemctl enable --now docker`.";
    case "alpine":
      return "As root: `apk add docker && rc-service docker start`.";
    case "debian":
    case "ubuntu":
      return "As root: `swarm engine start --yes`, or `apt-get install --no-install-recommends docker.io iptables`.";
    default:
      return "Install Docker Engine from your system's packages and start it, or set DOCKER_HOST.";
  }
}
