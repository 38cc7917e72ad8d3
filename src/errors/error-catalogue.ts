import { formatCount } from "../text/format-count.ts";
import { formatLocation, type SourceLocation } from "../text/source-location.ts";
import { type ErrorEntries, entriesWith, type Located, type Texts } from "./error-entry.ts";
import { exitCodes } from "./exit-codes.ts";
import { type SandboxErrorFacts, sandboxErrorCatalogue } from "./sandbox-error-catalogue.ts";

/** The values from which swarm makes the message and the hint of each error, by the error's code. */
export interface ErrorFacts extends SandboxErrorFacts {
  // Errors in the command line
  USAGE: Texts<"message">;
  INVALID_VALUE: Texts<"name" | "value" | "expected">;
  WOULD_ASK: Texts<"question" | "flag">;
  // Errors in the repository, in task files and in settings
  NOT_A_REPOSITORY: Texts<"folder">;
  FILE_UNREADABLE: Located<"reason">;
  FILE_TOO_LARGE: { readonly place: SourceLocation; readonly bytes: number; readonly limit: number };
  JSON_INVALID: Located<"problem">;
  TASK_FILE_INVALID: Located<"problem" | "hint"> & { readonly more: number };
  TASK_FILE_NOT_FOUND: Texts<"file" | "folder">;
  TASK_FILE_OUTSIDE: Texts<"file" | "folder">;
  TASK_FILE_CHANGED: { readonly files: readonly string[] };
  TASK_FILE_REFUSED: Located<"problem">;
  SETTINGS_INVALID: Located<"problem" | "hint">;
  UNTRUSTED: Located<"field" | "why">;
  FILE_UNWRITABLE: Texts<"file" | "reason">;
  // Errors of the state file, of locks and of workers' records
  STATE_MISSING: Texts<"file">;
  WORKERS_MISSING: Texts<"swarmId">;
  STATE_EXISTS: Texts<"file" | "swarmId">;
  STATE_INVALID: Located<"problem">;
  STATE_LOST: { readonly containers: number };
  STATE_WRITE_FAILED: { readonly file: string; readonly reason: string; readonly holds: "old" | "new" };
  LOCK_TIMEOUT: { readonly file: string; readonly holder: string; readonly waitedMs: number };
  LOCK_LOST: Texts<"file">;
  OWNED_BY_ANOTHER: Texts<"holder">;
  OWNER_ENDED: Texts<"log" | "how">;
  CONTAINER_UNKNOWN: Texts<"name">;
  CONTAINER_EXISTS: Texts<"what">;
  WORKER_UNKNOWN: { readonly word: string; readonly known: readonly string[] };
  TRANSITION_REFUSED: Texts<"name" | "from" | "to"> & { readonly allowed: readonly string[] };
  PROJECT_MOVED: Texts<"was" | "is">;
  PROJECT_COPIED: Texts<"original">;
  FILE_FAILED: Texts<"file" | "reason">;
  // Errors of this machine: the engine, git, Claude Code, cron
  NODE_TOO_OLD: Texts<"version">;
  CLAUDE_MISSING: Texts<"folder">;
  CLAUDE_FAILED: Texts<"command" | "reason">;
  ENGINE_UNREACHABLE: { readonly tried: readonly string[] };
  ENGINE_CHANGED: Texts<"endpoint" | "recorded" | "found">;
  ENGINE_LACKS: Texts<"endpoint" | "action">;
  ENGINE_FAILED: Texts<"operation" | "reason">;
  ENGINE_UNSUPPORTED: Texts<"system" | "reason">;
  ENGINE_START_FAILED: Texts<"reason" | "log">;
  ENGINE_STOP_FAILED: Texts<"reason" | "log">;
  PACKAGES_NOT_INSTALLED: { readonly packages: readonly string[]; readonly reason: string };
  GIT_FAILED: Texts<"command" | "reason">;
  SCHEDULER_MISSING: Record<never, never>;
  SCHEDULE_FAILED: { readonly action: "read" | "written"; readonly reason: string };
  BRANCH_REFUSED: Texts<"branch" | "reason">;
}

const usage = entriesWith(exitCodes.usage);
const environment = entriesWith(exitCodes.environment);
const locked = entriesWith(exitCodes.locked);
const conflict = entriesWith(exitCodes.conflict);

const dnf =
  "As root: `dnf install moby-engine && systemctl enable --now docker`, or use Podman's Docker socket.";
const apt =
  "As root: `swarm engine start --yes`, or `apt-get install --no-install-recommends docker.io iptables`.";

/** How to install an engine, by the system. */
const installHints: Readonly<Record<string, string>> = {
  darwin: "Install Docker Desktop, OrbStack or Colima (`brew install colima docker && colima start`).",
  win32: "Run swarm inside WSL 2, where `apt-get install docker.io` or Docker Desktop provides an engine.",
  fedora: dnf,
  rhel: dnf,
  centos: dnf,
  arch: "As root: `pacman -S docker && systemctl enable --now docker`.",
  alpine: "As root: `apk add docker && rc-service docker start`.",
  debian: apt,
  ubuntu: apt,
};

/**
 * All expected errors by code. Each has an exit code, a message, and a hint about what the user can do next.
 */
export const errorCatalogue: ErrorEntries<ErrorFacts> = {
  // Errors in the command line
  USAGE: usage((f) => f.message, "Run `swarm help` for the commands and their flags."),
  INVALID_VALUE: usage(
    (f) => `${f.name} cannot be ${JSON.stringify(f.value)}`,
    (f) => `Expected: ${f.expected}.`,
  ),
  WOULD_ASK: usage(
    (f) => `swarm needs a terminal to ask this question: ${f.question}`,
    (f) => `Add ${f.flag}.`,
  ),

  // Errors in the repository, in task files and in settings
  NOT_A_REPOSITORY: usage(
    (f) => `${f.folder} is not in a git repository`,
    "Change into a repository, or create one with `git init`.",
  ),
  FILE_UNREADABLE: usage(
    (f) => `${formatLocation(f.place)} cannot be read: ${f.reason}`,
    "Check the path and its permissions.",
  ),
  FILE_TOO_LARGE: usage(
    (f) => `${formatLocation(f.place)} has ${f.bytes} bytes, but swarm accepts at most ${f.limit} bytes`,
    "Split the file into smaller files.",
  ),
  JSON_INVALID: usage((f) => `${formatLocation(f.place)}: ${f.problem}`, "Correct the JSON at this place."),
  TASK_FILE_INVALID: usage(
    (f) =>
      `${formatLocation(f.place)}: ${f.problem}${f.more > 0 ? ` (and ${formatCount(f.more, "more problem")})` : ""}`,
    (f) => f.hint,
  ),
  TASK_FILE_NOT_FOUND: usage(
    (f) => `There is no task file ${f.file}`,
    (f) =>
      `Task files are ${f.folder}/*-tasks.json; \`swarm plan\` lists the task files, \`swarm init\` writes an example.`,
  ),
  TASK_FILE_OUTSIDE: usage(
    (f) => `The task file ${f.file} is not in ${f.folder}`,
    (f) => `Move the file into ${f.folder}; swarm does not follow links that lead out of this folder.`,
  ),
  TASK_FILE_CHANGED: usage(
    (f) => `${f.files.join(", ")}: the content changed between the plan and the start of the swarm`,
    "Run the command again: it plans and runs the new content.",
  ),
  TASK_FILE_REFUSED: usage(
    (f) => `${formatLocation(f.place)}: ${f.problem}`,
    "Remove the text, or omit --strict to continue with a warning.",
  ),
  SETTINGS_INVALID: usage(
    (f) => `${formatLocation(f.place)}: ${f.problem}`,
    (f) => f.hint,
  ),
  UNTRUSTED: usage(
    (f) => `${formatLocation(f.place)}: ${f.field} ${f.why}, but you have not trusted this file`,
    "Review the file, then run `swarm trust`; after any later change of the file, run `swarm trust` again.",
  ),
  FILE_UNWRITABLE: environment(
    (f) => `${f.file} could not be written: ${f.reason}`,
    "Check the folder's permissions and the free disk space.",
  ),

  // Errors of the state file, of locks and of workers' records
  STATE_MISSING: usage(
    (f) => `This worktree has no swarm: ${f.file} does not exist`,
    "`swarm start --all` starts a swarm with all task files of this project.",
  ),
  WORKERS_MISSING: usage(
    (f) => `Swarm ${f.swarmId} has no workers, so there is nothing to resume`,
    "`swarm start --all` starts all task files of this project.",
  ),
  STATE_EXISTS: conflict(
    (f) => `${f.file} already holds swarm ${f.swarmId}`,
    "`swarm state init --force` archives this state file below .aimi/swarms/ and creates a new one.",
  ),
  STATE_INVALID: environment(
    (f) =>
      `${formatLocation(f.place)} is not a valid state file: ${f.problem}. swarm left the file unchanged`,
    "`swarm state repair` rebuilds the state file and archives the invalid one below .aimi/swarms/.",
  ),
  STATE_LOST: environment(
    (f) =>
      `The state file and its copy are missing, but the engine still has ${formatCount(f.containers, "container")} of this project`,
    "`swarm state repair` rebuilds the state from these containers.",
  ),
  STATE_WRITE_FAILED: environment(
    (f) =>
      f.holds === "old"
        ? `${f.file} could not be written and keeps its old content: ${f.reason}`
        : `${f.file} has its new content, but a power failure could still undo the write: ${f.reason}`,
    (f) =>
      /ENOSPC|EDQUOT/.test(f.reason)
        ? "Free some disk space, then run the command again."
        : "Fix the cause, then run the command again.",
  ),
  LOCK_TIMEOUT: locked(
    (f) =>
      `${f.file} is locked by ${f.holder}; swarm stopped waiting after ${Math.round(f.waitedMs / 100) / 10} s`,
    "Wait until that process ends, or end the process; the end of the process releases its lock.",
  ),
  LOCK_LOST: locked(
    (f) => `The lock ${f.file} no longer belongs to this process; nothing was written`,
    "Run the command again.",
  ),
  OWNED_BY_ANOTHER: locked(
    (f) => `Another process owns this swarm: ${f.holder}`,
    "Wait until that process ends, or end the process.",
  ),
  OWNER_ENDED: environment(
    (f) => `The background process ended before its swarm started (${f.how})`,
    (f) => `The log of the background process is ${f.log}.`,
  ),
  CONTAINER_UNKNOWN: usage(
    (f) => `The swarm has no container named ${f.name}`,
    "`swarm state list` shows the names of the containers.",
  ),
  CONTAINER_EXISTS: conflict(
    (f) => `The swarm already has ${f.what}`,
    "`swarm state list` shows the containers; `swarm state remove` removes a container from the state.",
  ),
  WORKER_UNKNOWN: usage(
    (f) => `${JSON.stringify(f.word)} does not identify exactly one worker of this swarm`,
    (f) => `Use the name of one worker: ${f.known.slice(0, 20).join(", ") || "the swarm has no workers"}.`,
  ),
  TRANSITION_REFUSED: conflict(
    (f) => `The status of ${f.name} is ${f.from} and cannot change to ${f.to}`,
    (f) =>
      f.allowed.length > 0
        ? `The next status after ${f.from} can be: ${f.allowed.join(", ")}.`
        : `The status ${f.from} is final.`,
  ),
  PROJECT_MOVED: conflict(
    (f) => `swarm recorded this project at ${f.was}, but the project is now at ${f.is}`,
    "Run `swarm state repair --moved` if you moved the project, or `swarm state repair --copied` if this project is a copy that must become a separate project.",
  ),

  PROJECT_COPIED: conflict(
    (f) => `This project was copied, not moved: the original project is still at ${f.original}`,
    "`swarm state repair --copied` registers the copy as a separate project.",
  ),
  FILE_FAILED: environment(
    (f) => `${f.file} cannot be used: ${f.reason}`,
    "Check the file or folder at this path, its permissions and the free disk space.",
  ),

  // Errors of this machine: the engine, git, Claude Code, cron
  CLAUDE_MISSING: environment(
    () => "the plugin cannot be installed: there is no program `claude` on the PATH",
    (f) =>
      `Install Claude Code, or type these commands in Claude Code: /plugin marketplace add ${f.folder}, /plugin install aimi@aimi`,
  ),
  CLAUDE_FAILED: environment(
    (f) => `claude ${f.command} failed: ${f.reason}`,
    "Run this `claude` command yourself; `swarm plugin validate` checks the plugin.",
  ),
  NODE_TOO_OLD: environment(
    (f) => `swarm needs Node 24.15 or newer, but is running on Node ${f.version}`,
    "Install Node 24, or run swarm in a clone of its repository, where `npm ci` installs a suitable Node.",
  ),
  ENGINE_UNREACHABLE: environment(
    (f) => `No container engine answers (${f.tried.join("; ") || "no engine was found"})`,
    "`swarm engine start` starts a private engine on Linux; `swarm doctor` shows which engines swarm tried and why it refused each of them.",
  ),
  ENGINE_CHANGED: environment(
    (f) =>
      `The engine at ${f.endpoint} has the id ${f.found}, but this swarm belongs to the engine with the id ${f.recorded}`,
    "Set DOCKER_HOST to the address of this swarm's engine.",
  ),
  ENGINE_LACKS: environment(
    (f) => `The engine at ${f.endpoint} cannot ${f.action}`,
    "Choose another engine with --engine.",
  ),
  ENGINE_FAILED: environment(
    (f) => `The engine could not ${f.operation}: ${f.reason}`,
    "`swarm doctor` checks the engine.",
  ),
  ENGINE_UNSUPPORTED: environment(
    (f) => `swarm cannot start a private engine on ${f.system}: ${f.reason}`,
    (f) =>
      installHints[f.system] ??
      "Install Docker Engine from your system's packages and start it, or set DOCKER_HOST.",
  ),
  ENGINE_START_FAILED: environment(
    (f) => `The private engine did not start: ${f.reason}`,
    (f) => `The log of the private engine is ${f.log}.`,
  ),
  ENGINE_STOP_FAILED: environment(
    (f) => `The private engine did not stop: ${f.reason}`,
    (f) => `The log of the private engine is ${f.log}.`,
  ),
  PACKAGES_NOT_INSTALLED: environment(
    (f) => `${f.packages.join(", ")} could not be installed: ${f.reason}`,
    (f) => `Install them by hand: apt-get install --no-install-recommends ${f.packages.join(" ")}`,
  ),
  GIT_FAILED: environment(
    (f) => `\`git ${f.command}\` failed: ${f.reason}`,
    "Run this git command yourself to see its full output.",
  ),
  SCHEDULER_MISSING: environment(
    () => "there is no `crontab` on this machine",
    "Install cron (`apt-get install cron`), or use another scheduler: docs/nightly.md describes some.",
  ),
  SCHEDULE_FAILED: environment(
    (f) => `the crontab could not be ${f.action}: ${f.reason}`,
    "Run `crontab -l` yourself; /etc/cron.allow and /etc/cron.deny decide which users may have a crontab.",
  ),
  BRANCH_REFUSED: conflict(
    (f) => `swarm cannot use the branch ${f.branch} for the results: ${f.reason}`,
    "Name another branch with `--into`, or check out another branch first.",
  ),

  ...sandboxErrorCatalogue,
};
