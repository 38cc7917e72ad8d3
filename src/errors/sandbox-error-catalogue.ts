import { formatLocation } from "../text/source-location.ts";
import { type ErrorEntries, entriesWith, type Located, type Texts } from "./error-entry.ts";
import { exitCodes } from "./exit-codes.ts";

/**
 * The facts that each error about containers, images and sandboxes carries. From these facts,
 * `sandboxErrorCatalogue` makes the error's message.
 */
export interface SandboxErrorFacts {
  // Options and files of sandboxes
  SANDBOX_SPEC_INVALID: Located<"problem" | "hint">;
  OPTION_INVALID: Texts<"option" | "problem" | "hint">;
  SANDBOX_UNKNOWN: Texts<"id">;
  SANDBOX_FOREIGN: Texts<"id" | "folder">;
  SANDBOX_NONE: Texts<"folder">;
  SANDBOX_EXPIRED: Texts<"id" | "ttl" | "endedAt">;
  SANDBOX_DESTROYED: Texts<"id" | "at">;
  SANDBOX_ENDED: Texts<"id" | "status" | "reason">;
  SANDBOX_BUSY: Texts<"id" | "holder">;
  TASK_MISSING: Texts<"file" | "reason">;
  INPUT_REFUSED: Texts<"pattern" | "reason">;
  DANGEROUS: Texts<"what" | "flag">;
  PATH_REFUSED: Texts<"path" | "reason">;
  // Containers
  SPEC_REFUSED: Texts<"field" | "reason">;
  CONTAINER_REFUSED: { readonly name: string; readonly breaches: readonly string[] };
  CONTAINER_GONE: Texts<"id">;
  CONTAINER_NOT_RUNNING: {
    readonly id: string;
    readonly state: string;
    /** The hint to show instead of the usual hint if the user cannot start the container. */
    readonly instead?: string;
  };
  CONTAINER_STUCK: { readonly id: string; readonly operation: string; readonly withinMs: number };
  CONTAINER_START_FAILED: Texts<"name" | "reason">;
  NAME_TAKEN: Texts<"name">;
  SUBNET_TAKEN: Texts<"subnet">;
  GATEWAY_FAILED: Texts<"reason">;
  UNSUPPORTED_BY_ENGINE: Texts<"what" | "reason">;
  ISOLATION_UNAVAILABLE: { readonly wanted: string; readonly found: readonly string[] };
  AGENT_NEEDS_NETWORK: Texts<"kind" | "file">;
  CREDENTIALS_MISSING: {
    readonly agent: string;
    readonly file: string;
    readonly variables: readonly string[];
  };
  CREDENTIAL_UNREADABLE: Texts<"reference" | "reason">;
  CLEANUP_FAILED: { readonly left: readonly string[]; readonly reason: string };
  // Commands and files in containers
  EXEC_FAILED: Texts<"command" | "reason">;
  PROGRAM_NOT_FOUND: Texts<"program">;
  PROGRAM_NOT_EXECUTABLE: Texts<"program">;
  COMMAND_TIMEOUT: { readonly command: string; readonly limitMs: number };
  OUTPUT_TOO_LONG: Texts<"command" | "limit">;
  FILE_NOT_FOUND: Texts<"path">;
  ARCHIVE_REFUSED: Texts<"entry" | "reason">;
  OUTPUTS_INCOMPLETE: { readonly first: string; readonly count: number };
  // Limits
  MEMORY_EXHAUSTED: Texts<"name" | "limit">;
  DISK_FULL: Texts<"name" | "used" | "limit">;
  FILES_EXHAUSTED: { readonly name: string; readonly limit: number };
  PROCESSES_EXHAUSTED: { readonly name: string; readonly limit: number };
  // Images
  IMAGE_NOT_FOUND: Texts<"image" | "reason">;
  IMAGE_UNSUITABLE: { readonly image: string; readonly absent: readonly string[] };
  IMAGE_BUILD_FAILED: Texts<"image" | "step" | "reason">;
  IMAGE_PULL_FAILED: Texts<"image" | "reason">;
  DOCKERFILE_INVALID: Located<"problem">;
  ROOT_FILESYSTEM_FAILED: Texts<"reason">;
  DOWNLOAD_FAILED: Texts<"what" | "reason">;
}

const usage = entriesWith(exitCodes.usage);
const environment = entriesWith(exitCodes.environment);
const credentials = entriesWith(exitCodes.credentials);
const locked = entriesWith(exitCodes.locked);
const limited = entriesWith(exitCodes.limited);
const conflict = entriesWith(exitCodes.conflict);

export const sandboxErrorCatalogue: ErrorEntries<SandboxErrorFacts> = {
  // Options and files of sandboxes
  SANDBOX_SPEC_INVALID: usage(
    (f) => `${formatLocation(f.place)}: ${f.problem}`,
    (f) => f.hint,
  ),
  OPTION_INVALID: usage(
    (f) => `${f.option}: ${f.problem}`,
    (f) => f.hint,
  ),
  SANDBOX_UNKNOWN: usage(
    (f) => `There is no sandbox ${f.id} in this project`,
    "`swarm sandbox ls` lists the ids of the sandboxes.",
  ),
  SANDBOX_FOREIGN: conflict(
    (f) =>
      `this user's swarm command did not write the record of sandbox ${f.id}, or the record was changed afterwards`,
    (f) =>
      `Inspect ${f.folder}/run.json. If the file came with the repository, remove its folder; swarm uses nothing from that folder.`,
  ),
  SANDBOX_NONE: usage((f) => `There is no sandbox in ${f.folder}`, "`swarm sandbox up` creates a sandbox."),
  SANDBOX_EXPIRED: limited(
    (f) => `Sandbox ${f.id} reached its time to live of ${f.ttl} at ${f.endedAt}`,
    "The sandbox's files remain below .aimi/sandboxes/; `swarm sandbox up` creates a new sandbox.",
  ),
  SANDBOX_DESTROYED: conflict(
    (f) => `Sandbox ${f.id} was destroyed at ${f.at}`,
    "`swarm sandbox up` creates a new sandbox.",
  ),
  SANDBOX_ENDED: conflict(
    (f) => `Sandbox ${f.id} has ended (${f.status}): ${f.reason}`,
    "The sandbox's files remain below .aimi/sandboxes/; `swarm sandbox up` creates a new sandbox.",
  ),
  SANDBOX_BUSY: locked(
    (f) => `Sandbox ${f.id} is in use: ${f.holder}`,
    "Wait until that process ends, or create another sandbox with `swarm sandbox up`.",
  ),
  TASK_MISSING: usage(
    (f) => `The task file ${f.file} cannot be used: ${f.reason}`,
    "Check the path of the task file. swarm started nothing.",
  ),
  INPUT_REFUSED: usage(
    (f) => `The input ${JSON.stringify(f.pattern)} is refused: ${f.reason}`,
    "Inputs must be files below the folder in which swarm was started; links must not lead out of that folder.",
  ),
  DANGEROUS: usage(
    (f) => `${f.what} weakens the sandbox's isolation, and ${f.flag} was not given`,
    (f) => `Remove this option; or, if you accept the risk, add ${f.flag}.`,
  ),
  PATH_REFUSED: usage(
    (f) => `The path ${JSON.stringify(f.path)} is refused: ${f.reason}`,
    (f) =>
      f.reason.includes("leaves")
        ? "Name a path below the working folder; a program can pass `absolute: true` for any other path."
        : "Check the path; relative paths start in the working folder.",
  ),

  // Containers
  SPEC_REFUSED: usage(
    (f) => `${f.field} is refused: ${f.reason}`,
    "Change the value; swarm created nothing.",
  ),
  CONTAINER_REFUSED: environment(
    (f) =>
      `${f.name} was not started, because the engine created this container with weaker isolation than requested: ${f.breaches.join("; ")}`,
    "swarm removed the container. Check the engine's defaults (daemon.json); `swarm doctor` checks how strongly the engine's runtimes isolate containers.",
  ),
  CONTAINER_GONE: conflict(
    (f) => `The engine has no container ${f.id}`,
    "The container was removed; create a new one.",
  ),
  CONTAINER_NOT_RUNNING: conflict(
    (f) => `The container ${f.id} is not running: its state is ${f.state}`,
    (f) => f.instead ?? "Start the container first, or create a new one.",
  ),
  CONTAINER_STUCK: environment(
    (f) =>
      `The container ${f.id} is paused and its engine cannot unpause it: the engine could not ${f.operation} within ${f.withinMs / 1000} s`,
    (f) =>
      `A program was starting in the container when the engine paused it. On the engine's machine, run \`pkill -KILL -f 'exec --process .*${f.id}'\` as root: this command ends that program, and the engine then recovers by itself. Do not restart the engine: after a restart, the engine cannot start this container again.`,
  ),
  CONTAINER_START_FAILED: environment(
    (f) => `The container ${f.name} did not start: ${f.reason}`,
    "swarm removed the container. `swarm doctor` checks how strongly the engine's runtimes isolate containers.",
  ),
  NAME_TAKEN: conflict(
    (f) => `The engine already has a container, network or volume named ${f.name}`,
    "Choose another name, or remove the container, network or volume with this name.",
  ),
  SUBNET_TAKEN: conflict(
    (f) => `The engine already has a network whose addresses overlap ${f.subnet}`,
    "Set SWARM_SUBNETS to another address range for the workers' networks, for example SWARM_SUBNETS=10.214.0.0/16.",
  ),
  GATEWAY_FAILED: environment(
    (f) => `The gateway of this swarm is not running: ${f.reason}`,
    "`swarm resume` restarts the gateway; `docker logs` of the container whose name ends in .gateway shows the gateway's log.",
  ),
  UNSUPPORTED_BY_ENGINE: environment(
    (f) => `The engine cannot provide ${f.what}: ${f.reason}`,
    "Omit this feature, or use another engine or container runtime.",
  ),
  ISOLATION_UNAVAILABLE: environment(
    (f) =>
      `No usable runtime provides the required isolation (${f.wanted}): ${f.found.join("; ") || "no runtime was found"}`,
    "Install gVisor (`runsc`) or Sysbox and register the runtime in the engine, or require a weaker isolation level; `swarm doctor` shows the measured isolation of each runtime.",
  ),
  AGENT_NEEDS_NETWORK: environment(
    (f) =>
      `${f.file} uses an agent of kind ${f.kind}, which needs its model's API, but the workers' sandboxes have no network`,
    "With `--network gateway`, the agent reaches only its model's API and the hosts that you allow. Agents of the kinds `script` and `command` work without a network.",
  ),
  CREDENTIALS_MISSING: credentials(
    (f) =>
      `${f.file} uses the agent ${f.agent}, which needs one of the variables ${f.variables.join(", ")}, but none of these variables is set`,
    "Set one of these variables in the environment of this command. With `--network gateway`, the default, only the gateway receives the credential; with another network, the agent's own environment contains the credential. swarm does not store the credential.",
  ),
  CREDENTIAL_UNREADABLE: credentials(
    (f) => `The credential ${f.reference} cannot be used: ${f.reason}`,
    "Write the credential as env:NAME, file:/path or cmd:program arguments; its value must be one line or a login of Claude Code.",
  ),
  CLEANUP_FAILED: environment(
    (f) => `swarm could not remove ${f.left.join(", ")}: ${f.reason}`,
    "Run the same command again when the engine answers; swarm finds the remaining containers, networks and volumes by their labels.",
  ),

  // Commands and files in containers
  EXEC_FAILED: environment(
    (f) => `${f.command} could not be run in the container: ${f.reason}`,
    "`swarm sandbox ls` shows whether the container is still running.",
  ),
  PROGRAM_NOT_FOUND: usage(
    (f) => `There is no program ${JSON.stringify(f.program)} in the container`,
    "Check the program's name, or use an image that contains the program.",
  ),
  PROGRAM_NOT_EXECUTABLE: usage(
    (f) => `${JSON.stringify(f.program)} in the container cannot be executed`,
    "Check that the file is a program or a script with a `#!` line, and that it has execute permission.",
  ),
  COMMAND_TIMEOUT: limited(
    (f) => `${f.command} was ended after its time limit of ${f.limitMs / 1000} s`,
    "Raise the time limit, or run a command that finishes sooner.",
  ),
  OUTPUT_TOO_LONG: limited(
    (f) => `${f.command} was ended because it wrote more than ${f.limit} of output`,
    "Let the command write its output to a file in the container instead.",
  ),
  FILE_NOT_FOUND: usage(
    (f) => `There is no file ${f.path} in the container`,
    "Check the path; relative paths start in the working folder.",
  ),
  ARCHIVE_REFUSED: conflict(
    (f) =>
      `swarm refused the files from the container because of the entry ${JSON.stringify(f.entry)}: ${f.reason}`,
    "swarm discarded all of these files. swarm copies only regular files and folders with ordinary names out of a sandbox.",
  ),
  OUTPUTS_INCOMPLETE: conflict(
    (f) =>
      `The task succeeded, but swarm could not copy all of /outputs completely: ${f.first}${f.count > 1 ? `, and ${f.count - 1} more` : ""}`,
    "swarm copied the other files to the sandbox's folder. The missing files are still in the sandbox: use `swarm sandbox exec` to end a program that is still writing, to change permissions or to pack a large file; the next `run` or `destroy` copies these files.",
  ),

  // Limits
  MEMORY_EXHAUSTED: limited(
    (f) => `${f.name} reached its memory limit of ${f.limit}`,
    "Raise the memory limit, or let the programs in the sandbox use less memory at once.",
  ),
  DISK_FULL: limited(
    (f) => `${f.name} was stopped because it uses ${f.used} of disk space; its limit is ${f.limit}`,
    "Raise the disk limit, or let the programs in the sandbox write less.",
  ),
  FILES_EXHAUSTED: limited(
    (f) => `${f.name} was stopped because it contains more than ${f.limit} files`,
    "Let the programs in the sandbox create fewer files, or pack the files into an archive.",
  ),
  PROCESSES_EXHAUSTED: limited(
    (f) => `${f.name} reached its limit of ${f.limit} processes`,
    "Raise the process limit (`pids`), or let the programs in the sandbox start fewer processes at once.",
  ),

  // Images
  IMAGE_NOT_FOUND: environment(
    (f) => `There is no image ${f.image}: ${f.reason}`,
    "`swarm image build` builds swarm's own images; check the name of any other image.",
  ),
  IMAGE_UNSUITABLE: environment(
    (f) => `The image ${f.image} cannot run a sandbox: it lacks ${f.absent.join(", ")}`,
    "Use an image that contains a C library and the missing programs, for example an image of Debian or Ubuntu.",
  ),
  IMAGE_BUILD_FAILED: environment(
    (f) =>
      `The image ${f.image} could not be built; ${shortened(f.step) || "the build"} failed: ${lastWords(f.reason)}`,
    "Fix the cause, then run the same command again: the engine does not repeat the finished steps.",
  ),
  IMAGE_PULL_FAILED: environment(
    (f) => `The image ${f.image} could not be pulled in two attempts: ${f.reason}`,
    "Check the image's name, the network and the login at the registry; swarm does not pull an image that the engine already has.",
  ),
  DOCKERFILE_INVALID: usage(
    (f) => `${formatLocation(f.place)}: ${f.problem}`,
    "Correct the Dockerfile, or remove it: swarm then generates a Dockerfile.",
  ),
  ROOT_FILESYSTEM_FAILED: environment(
    (f) => `swarm could not create a root filesystem for the base image: ${f.reason}`,
    "If the engine cannot reach an image registry, swarm runs `debootstrap`, which creates the root filesystem from Debian packages and needs root, Linux and a Debian mirror.",
  ),
  DOWNLOAD_FAILED: environment(
    (f) => `npm could not download ${f.what}: ${f.reason}`,
    "Check the network and npm's registry (`npm config get registry`).",
  ),
};

function shortened(step: string): string {
  return step.length > 120 ? `${step.slice(0, 119)}…` : step;
}

/** Returns the last lines of a failed image build's output, which usually name the cause. */
function lastWords(reason: string): string {
  const lines = reason.split("\n").filter(Boolean);
  return lines.slice(-4).join(" | ").slice(-600);
}
