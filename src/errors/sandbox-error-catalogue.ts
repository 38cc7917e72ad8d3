import { formatLocation, type SourceLocation } from "../text/source-location.ts";
import { createErrorEntry, type ErrorEntry } from "./error-entry.ts";
import { exitCodes } from "./exit-codes.ts";

/**
 * The facts that each error about containers, images and sandboxes carries. From these facts,
 * `sandboxErrorCatalogue` makes the error's message.
 */
export interface SandboxErrorFacts {
  // Options and files of sandboxes
  SANDBOX_SPEC_INVALID: { readonly place: SourceLocation; readonly problem: string; readonly hint: string };
  OPTION_INVALID: { readonly option: string; readonly problem: string; readonly hint: string };
  SANDBOX_UNKNOWN: { readonly id: string };
  SANDBOX_FOREIGN: { readonly id: string; readonly folder: string };
  SANDBOX_NONE: { readonly folder: string };
  SANDBOX_EXPIRED: { readonly id: string; readonly ttl: string; readonly endedAt: string };
  SANDBOX_DESTROYED: { readonly id: string; readonly at: string };
  SANDBOX_ENDED: { readonly id: string; readonly status: string; readonly reason: string };
  SANDBOX_BUSY: { readonly id: string; readonly holder: string };
  TASK_MISSING: { readonly file: string; readonly reason: string };
  INPUT_REFUSED: { readonly pattern: string; readonly reason: string };
  DANGEROUS: { readonly what: string; readonly flag: string };
  PATH_REFUSED: { readonly path: string; readonly reason: string };
  // Containers
  SPEC_REFUSED: { readonly field: string; readonly reason: string };
  CONTAINER_REFUSED: { readonly name: string; readonly breaches: readonly string[] };
  CONTAINER_GONE: { readonly id: string };
  CONTAINER_NOT_RUNNING: {
    readonly id: string;
    readonly state: string;
    /** The hint to show instead of the usual hint if the user cannot start the container. */
    readonly instead?: string;
  };
  CONTAINER_STUCK: { readonly id: string; readonly operation: string; readonly withinMs: number };
  CONTAINER_START_FAILED: { readonly name: string; readonly reason: string };
  NAME_TAKEN: { readonly name: string };
  SUBNET_TAKEN: { readonly subnet: string };
  GATEWAY_FAILED: { readonly reason: string };
  UNSUPPORTED_BY_ENGINE: { readonly what: string; readonly reason: string };
  ISOLATION_UNAVAILABLE: { readonly wanted: string; readonly found: readonly string[] };
  AGENT_NEEDS_NETWORK: { readonly kind: string; readonly file: string };
  CREDENTIALS_MISSING: {
    readonly agent: string;
    readonly file: string;
    readonly variables: readonly string[];
  };
  CREDENTIAL_UNREADABLE: { readonly reference: string; readonly reason: string };
  CLEANUP_FAILED: { readonly left: readonly string[]; readonly reason: string };
  // Commands and files in containers
  EXEC_FAILED: { readonly command: string; readonly reason: string };
  PROGRAM_NOT_FOUND: { readonly program: string };
  PROGRAM_NOT_EXECUTABLE: { readonly program: string };
  COMMAND_TIMEOUT: { readonly command: string; readonly limitMs: number };
  OUTPUT_TOO_LONG: { readonly command: string; readonly limit: string };
  FILE_NOT_FOUND: { readonly path: string };
  ARCHIVE_REFUSED: { readonly entry: string; readonly reason: string };
  OUTPUTS_INCOMPLETE: { readonly first: string; readonly count: number };
  // Limits
  MEMORY_EXHAUSTED: { readonly name: string; readonly limit: string };
  DISK_FULL: { readonly name: string; readonly used: string; readonly limit: string };
  FILES_EXHAUSTED: { readonly name: string; readonly limit: number };
  PROCESSES_EXHAUSTED: { readonly name: string; readonly limit: number };
  // Images
  IMAGE_NOT_FOUND: { readonly image: string; readonly reason: string };
  IMAGE_UNSUITABLE: { readonly image: string; readonly absent: readonly string[] };
  IMAGE_BUILD_FAILED: { readonly image: string; readonly step: string; readonly reason: string };
  IMAGE_PULL_FAILED: { readonly image: string; readonly reason: string };
  DOCKERFILE_INVALID: { readonly place: SourceLocation; readonly problem: string };
  ROOT_FILESYSTEM_FAILED: { readonly reason: string };
  DOWNLOAD_FAILED: { readonly what: string; readonly reason: string };
}

const { usage, environment, credentials, locked, limited, conflict } = exitCodes;

export const sandboxErrorCatalogue: {
  readonly [Code in keyof SandboxErrorFacts]: ErrorEntry<SandboxErrorFacts[Code]>;
} = {
  // Options and files of sandboxes
  SANDBOX_SPEC_INVALID: createErrorEntry(
    usage,
    (f) => `${formatLocation(f.place)}: ${f.problem}`,
    (f) => f.hint,
  ),
  OPTION_INVALID: createErrorEntry(
    usage,
    (f) => `${f.option}: ${f.problem}`,
    (f) => f.hint,
  ),
  SANDBOX_UNKNOWN: createErrorEntry(
    usage,
    (f) => `There is no sandbox ${f.id} in this project`,
    () => "`swarm sandbox ls` lists the ids of the sandboxes.",
  ),
  SANDBOX_FOREIGN: createErrorEntry(
    conflict,
    (f) =>
      `this user's swarm command did not write the record of sandbox ${f.id}, or the record was changed afterwards`,
    (f) =>
      `Inspect ${f.folder}/run.json. If the file came with the repository, remove its folder; swarm uses nothing from that folder.`,
  ),
  SANDBOX_NONE: createErrorEntry(
    usage,
    (f) => `There is no sandbox in ${f.folder}`,
    () => "`swarm sandbox up` creates a sandbox.",
  ),
  SANDBOX_EXPIRED: createErrorEntry(
    limited,
    (f) => `Sandbox ${f.id} reached its time to live of ${f.ttl} at ${f.endedAt}`,
    () => "The sandbox's files remain below .aimi/sandboxes/; `swarm sandbox up` creates a new sandbox.",
  ),
  SANDBOX_DESTROYED: createErrorEntry(
    conflict,
    (f) => `Sandbox ${f.id} was destroyed at ${f.at}`,
    () => "`swarm sandbox up` creates a new sandbox.",
  ),
  SANDBOX_ENDED: createErrorEntry(
    conflict,
    (f) => `Sandbox ${f.id} has ended (${f.status}): ${f.reason}`,
    () => "The sandbox's files remain below .aimi/sandboxes/; `swarm sandbox up` creates a new sandbox.",
  ),
  SANDBOX_BUSY: createErrorEntry(
    locked,
    (f) => `Sandbox ${f.id} is in use: ${f.holder}`,
    () => "Wait until that process ends, or create another sandbox with `swarm sandbox up`.",
  ),
  TASK_MISSING: createErrorEntry(
    usage,
    (f) => `The task file ${f.file} cannot be used: ${f.reason}`,
    () => "Check the path of the task file. swarm started nothing.",
  ),
  INPUT_REFUSED: createErrorEntry(
    usage,
    (f) => `The input ${JSON.stringify(f.pattern)} is refused: ${f.reason}`,
    () =>
      "Inputs must be files below the folder in which swarm was started; links must not lead out of that folder.",
  ),
  DANGEROUS: createErrorEntry(
    usage,
    (f) => `${f.what} weakens the sandbox's isolation, and ${f.flag} was not given`,
    (f) => `Remove this option; or, if you accept the risk, add ${f.flag}.`,
  ),
  PATH_REFUSED: createErrorEntry(
    usage,
    (f) => `The path ${JSON.stringify(f.path)} is refused: ${f.reason}`,
    (f) =>
      f.reason.includes("leaves")
        ? "Name a path below the working folder; a program can pass `absolute: true` for any other path."
        : "Check the path; relative paths start in the working folder.",
  ),

  // Containers
  SPEC_REFUSED: createErrorEntry(
    usage,
    (f) => `${f.field} is refused: ${f.reason}`,
    () => "Change the value; swarm created nothing.",
  ),
  CONTAINER_REFUSED: createErrorEntry(
    environment,
    (f) =>
      `${f.name} was not started, because the engine created this container with weaker isolation than requested: ${f.breaches.join("; ")}`,
    () =>
      "swarm removed the container. Check the engine's defaults (daemon.json); `swarm doctor` checks how strongly the engine's runtimes isolate containers.",
  ),
  CONTAINER_GONE: createErrorEntry(
    conflict,
    (f) => `The engine has no container ${f.id}`,
    () => "The container was removed; create a new one.",
  ),
  CONTAINER_NOT_RUNNING: createErrorEntry(
    conflict,
    (f) => `The container ${f.id} is not running: its state is ${f.state}`,
    (f) => f.instead ?? "Start the container first, or create a new one.",
  ),
  CONTAINER_STUCK: createErrorEntry(
    environment,
    (f) =>
      `The container ${f.id} is paused and its engine cannot unpause it: the engine could not ${f.operation} within ${f.withinMs / 1000} s`,
    (f) =>
      `A program was starting in the container when the engine paused it. On the engine's machine, run \`pkill -KILL -f 'exec --process .*${f.id}'\` as root: this command ends that program, and the engine then recovers by itself. Do not restart the engine: after a restart, the engine cannot start this container again.`,
  ),
  CONTAINER_START_FAILED: createErrorEntry(
    environment,
    (f) => `The container ${f.name} did not start: ${f.reason}`,
    () =>
      "swarm removed the container. `swarm doctor` checks how strongly the engine's runtimes isolate containers.",
  ),
  NAME_TAKEN: createErrorEntry(
    conflict,
    (f) => `The engine already has a container, network or volume named ${f.name}`,
    () => "Choose another name, or remove the container, network or volume with this name.",
  ),
  SUBNET_TAKEN: createErrorEntry(
    conflict,
    (f) => `The engine already has a network whose addresses overlap ${f.subnet}`,
    () =>
      "Set SWARM_SUBNETS to another address range for the workers' networks, for example SWARM_SUBNETS=10.214.0.0/16.",
  ),
  GATEWAY_FAILED: createErrorEntry(
    environment,
    (f) => `The gateway of this swarm is not running: ${f.reason}`,
    () =>
      "`swarm resume` restarts the gateway; `docker logs` of the container whose name ends in .gateway shows the gateway's log.",
  ),
  UNSUPPORTED_BY_ENGINE: createErrorEntry(
    environment,
    (f) => `The engine cannot provide ${f.what}: ${f.reason}`,
    () => "Omit this feature, or use another engine or container runtime.",
  ),
  ISOLATION_UNAVAILABLE: createErrorEntry(
    environment,
    (f) =>
      `No usable runtime provides the required isolation (${f.wanted}): ${f.found.join("; ") || "no runtime was found"}`,
    () =>
      "Install gVisor (`runsc`) or Sysbox and register the runtime in the engine, or require a weaker isolation level; `swarm doctor` shows the measured isolation of each runtime.",
  ),
  AGENT_NEEDS_NETWORK: createErrorEntry(
    environment,
    (f) =>
      `${f.file} uses an agent of kind ${f.kind}, which needs its model's API, but the workers' sandboxes have no network`,
    () =>
      "With `--network gateway`, the agent reaches only its model's API and the hosts that you allow. Agents of the kinds `script` and `command` work without a network.",
  ),
  CREDENTIALS_MISSING: createErrorEntry(
    credentials,
    (f) =>
      `${f.file} uses the agent ${f.agent}, which needs one of the variables ${f.variables.join(", ")}, but none of these variables is set`,
    () =>
      "Set one of these variables in the environment of this command. With `--network gateway`, the default, only the gateway receives the credential; with another network, the agent's own environment contains the credential. swarm does not store the credential.",
  ),
  CREDENTIAL_UNREADABLE: createErrorEntry(
    credentials,
    (f) => `The credential ${f.reference} cannot be used: ${f.reason}`,
    () =>
      "Write the credential as env:NAME, file:/path or cmd:program arguments; its value must be one line or a login of Claude Code.",
  ),
  CLEANUP_FAILED: createErrorEntry(
    environment,
    (f) => `swarm could not remove ${f.left.join(", ")}: ${f.reason}`,
    () =>
      "Run the same command again when the engine answers; swarm finds the remaining containers, networks and volumes by their labels.",
  ),

  // Commands and files in containers
  EXEC_FAILED: createErrorEntry(
    environment,
    (f) => `${f.command} could not be run in the container: ${f.reason}`,
    () => "`swarm sandbox ls` shows whether the container is still running.",
  ),
  PROGRAM_NOT_FOUND: createErrorEntry(
    usage,
    (f) => `There is no program ${JSON.stringify(f.program)} in the container`,
    () => "Check the program's name, or use an image that contains the program.",
  ),
  PROGRAM_NOT_EXECUTABLE: createErrorEntry(
    usage,
    (f) => `${JSON.stringify(f.program)} in the container cannot be executed`,
    () =>
      "Check that the file is a program or a script with a `#!` line, and that it has execute permission.",
  ),
  COMMAND_TIMEOUT: createErrorEntry(
    limited,
    (f) => `${f.command} was ended after its time limit of ${f.limitMs / 1000} s`,
    () => "Raise the time limit, or run a command that finishes sooner.",
  ),
  OUTPUT_TOO_LONG: createErrorEntry(
    limited,
    (f) => `${f.command} was ended because it wrote more than ${f.limit} of output`,
    () => "Let the command write its output to a file in the container instead.",
  ),
  FILE_NOT_FOUND: createErrorEntry(
    usage,
    (f) => `There is no file ${f.path} in the container`,
    () => "Check the path; relative paths start in the working folder.",
  ),
  ARCHIVE_REFUSED: createErrorEntry(
    conflict,
    (f) =>
      `swarm refused the files from the container because of the entry ${JSON.stringify(f.entry)}: ${f.reason}`,
    () =>
      "swarm discarded all of these files. swarm copies only regular files and folders with ordinary names out of a sandbox.",
  ),
  OUTPUTS_INCOMPLETE: createErrorEntry(
    conflict,
    (f) =>
      `The task succeeded, but swarm could not copy all of /outputs completely: ${f.first}${f.count > 1 ? `, and ${f.count - 1} more` : ""}`,
    () =>
      "swarm copied the other files to the sandbox's folder. The missing files are still in the sandbox: use `swarm sandbox exec` to end a program that is still writing, to change permissions or to pack a large file; the next `run` or `destroy` copies these files.",
  ),

  // Limits
  MEMORY_EXHAUSTED: createErrorEntry(
    limited,
    (f) => `${f.name} reached its memory limit of ${f.limit}`,
    () => "Raise the memory limit, or let the programs in the sandbox use less memory at once.",
  ),
  DISK_FULL: createErrorEntry(
    limited,
    (f) => `${f.name} was stopped because it uses ${f.used} of disk space; its limit is ${f.limit}`,
    () => "Raise the disk limit, or let the programs in the sandbox write less.",
  ),
  FILES_EXHAUSTED: createErrorEntry(
    limited,
    (f) => `${f.name} was stopped because it contains more than ${f.limit} files`,
    () => "Let the programs in the sandbox create fewer files, or pack the files into an archive.",
  ),
  PROCESSES_EXHAUSTED: createErrorEntry(
    limited,
    (f) => `${f.name} reached its limit of ${f.limit} processes`,
    () =>
      "Raise the process limit (`pids`), or let the programs in the sandbox start fewer processes at once.",
  ),

  // Images
  IMAGE_NOT_FOUND: createErrorEntry(
    environment,
    (f) => `There is no image ${f.image}: ${f.reason}`,
    () => "`swarm image build` builds swarm's own images; check the name of any other image.",
  ),
  IMAGE_UNSUITABLE: createErrorEntry(
    environment,
    (f) => `The image ${f.image} cannot run a sandbox: it lacks ${f.absent.join(", ")}`,
    () =>
      "Use an image that contains a C library and the missing programs, for example an image of Debian or Ubuntu.",
  ),
  IMAGE_BUILD_FAILED: createErrorEntry(
    environment,
    (f) =>
      `The image ${f.image} could not be built; ${shortened(f.step) || "the build"} failed: ${lastWords(f.reason)}`,
    () => "Fix the cause, then run the same command again: the engine does not repeat the finished steps.",
  ),
  IMAGE_PULL_FAILED: createErrorEntry(
    environment,
    (f) => `The image ${f.image} could not be pulled in two attempts: ${f.reason}`,
    () =>
      "Check the image's name, the network and the login at the registry; swarm does not pull an image that the engine already has.",
  ),
  DOCKERFILE_INVALID: createErrorEntry(
    usage,
    (f) => `${formatLocation(f.place)}: ${f.problem}`,
    () => "Correct the Dockerfile, or remove it: swarm then generates a Dockerfile.",
  ),
  ROOT_FILESYSTEM_FAILED: createErrorEntry(
    environment,
    (f) => `swarm could not create a root filesystem for the base image: ${f.reason}`,
    () =>
      "If the engine cannot reach an image registry, swarm runs `debootstrap`, which creates the root filesystem from Debian packages and needs root, Linux and a Debian mirror.",
  ),
  DOWNLOAD_FAILED: createErrorEntry(
    environment,
    (f) => `npm could not download ${f.what}: ${f.reason}`,
    () => "Check the network and npm's registry (`npm config get registry`).",
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
