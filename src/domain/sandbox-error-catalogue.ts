import { type ErrorEntry, entry } from "./error-entry.ts";
import { exitCodes } from "./exit-codes.ts";
import { type SourceLocation, showLocation } from "./place.ts";

/**
 * The facts that each error about containers, images and sandboxes carries. `sandboxCatalogue` turns them
 * into messages.
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
    /** The hint to show instead of the usual one, if the container cannot be started. */
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

export const sandboxCatalogue: {
  readonly [Code in keyof SandboxErrorFacts]: ErrorEntry<SandboxErrorFacts[Code]>;
} = {
  // Options and files of sandboxes
  SANDBOX_SPEC_INVALID: entry(
    usage,
    (f) => `${showLocation(f.place)}: ${f.problem}`,
    (f) => f.hint,
  ),
  OPTION_INVALID: entry(
    usage,
    (f) => `${f.option}: ${f.problem}`,
    (f) => f.hint,
  ),
  SANDBOX_UNKNOWN: entry(
    usage,
    (f) => `There is no sandbox ${f.id} here`,
    () => "`swarm sandbox ls` shows the ids.",
  ),
  SANDBOX_FOREIGN: entry(
    conflict,
    (f) => `the record of sandbox ${f.id} was not written by this user's swarm, or was changed since`,
    (f) =>
      `Look at ${f.folder}/run.json. If it came with the repository, remove the folder; nothing of it is used.`,
  ),
  SANDBOX_NONE: entry(
    usage,
    (f) => `There is no sandbox in ${f.folder}`,
    () => "`swarm sandbox up` makes one.",
  ),
  SANDBOX_EXPIRED: entry(
    limited,
    (f) => `Sandbox ${f.id} reached its time to live of ${f.ttl} at ${f.endedAt}`,
    () => "Its files are kept below .aimi/sandboxes/; `swarm sandbox up` makes a new one.",
  ),
  SANDBOX_DESTROYED: entry(
    conflict,
    (f) => `Sandbox ${f.id} was destroyed at ${f.at}`,
    () => "`swarm sandbox up` makes a new one.",
  ),
  SANDBOX_ENDED: entry(
    conflict,
    (f) => `Sandbox ${f.id} has ended (${f.status}): ${f.reason}`,
    () => "Its files are kept below .aimi/sandboxes/; `swarm sandbox up` makes a new one.",
  ),
  SANDBOX_BUSY: entry(
    locked,
    (f) => `Sandbox ${f.id} is in use: ${f.holder}`,
    () => "Wait for it to finish, or make another sandbox with `swarm sandbox up`.",
  ),
  TASK_MISSING: entry(
    usage,
    (f) => `The task file ${f.file} cannot be used: ${f.reason}`,
    () => "Nothing was started. Check the path.",
  ),
  INPUT_REFUSED: entry(
    usage,
    (f) => `The input ${JSON.stringify(f.pattern)} is refused: ${f.reason}`,
    () => "Inputs are files below the folder that swarm was started in, without links that lead out of it.",
  ),
  DANGEROUS: entry(
    usage,
    (f) => `${f.what} weakens the sandbox, and that was not allowed`,
    (f) => `Leave it out; or, if you know what it opens, add ${f.flag}.`,
  ),
  PATH_REFUSED: entry(
    usage,
    (f) => `The path ${JSON.stringify(f.path)} is refused: ${f.reason}`,
    (f) =>
      f.reason.includes("leaves")
        ? "Name a path below the working folder; in a program, `absolute: true` leaves it."
        : "Check the path; relative ones begin in the working folder.",
  ),

  // Containers
  SPEC_REFUSED: entry(
    usage,
    (f) => `${f.field} is refused: ${f.reason}`,
    () => "Change the value; nothing was created.",
  ),
  CONTAINER_REFUSED: entry(
    environment,
    (f) =>
      `${f.name} was not started, because the engine made it weaker than asked: ${f.breaches.join("; ")}`,
    () => "It was removed. Check the engine's defaults (daemon.json); `swarm doctor` measures its runtimes.",
  ),
  CONTAINER_GONE: entry(
    conflict,
    (f) => `The engine has no container ${f.id}`,
    () => "It was removed; make a new one.",
  ),
  CONTAINER_NOT_RUNNING: entry(
    conflict,
    (f) => `The container ${f.id} does not run: it is ${f.state}`,
    (f) => f.instead ?? "Start it first, or make a new one.",
  ),
  CONTAINER_STUCK: entry(
    environment,
    (f) =>
      `The container ${f.id} is paused and its engine cannot unpause it: it could not ${f.operation} within ${f.withinMs / 1000} s`,
    (f) =>
      `A program was starting in it when it was paused. On the engine's machine, as root: \`pkill -KILL -f 'exec --process .*${f.id}'\` ends that program, and the engine then recovers by itself. Do not restart the engine: it could not start this container again.`,
  ),
  CONTAINER_START_FAILED: entry(
    environment,
    (f) => `The container ${f.name} did not start: ${f.reason}`,
    () => "`swarm doctor` measures the engine's runtimes; the container was removed.",
  ),
  NAME_TAKEN: entry(
    conflict,
    (f) => `The engine already has something else called ${f.name}`,
    () => "Choose another name, or remove what is there.",
  ),
  SUBNET_TAKEN: entry(
    conflict,
    (f) => `The engine has a network already whose addresses overlap ${f.subnet}`,
    () => "SWARM_SUBNETS=10.214.0.0/16 takes the networks of workers from another range.",
  ),
  GATEWAY_FAILED: entry(
    environment,
    (f) => `The gateway of this swarm does not run: ${f.reason}`,
    () => "`swarm resume` starts it again; `docker logs` of the container that ends in .gateway says more.",
  ),
  UNSUPPORTED_BY_ENGINE: entry(
    environment,
    (f) => `The engine cannot do this: ${f.what} (${f.reason})`,
    () => "Leave it out, or use another engine or runtime.",
  ),
  ISOLATION_UNAVAILABLE: entry(
    environment,
    (f) => `No usable runtime isolates as demanded (${f.wanted}): ${f.found.join("; ") || "none was found"}`,
    () =>
      "Install gVisor (`runsc`) or Sysbox and register it in the engine, or demand less; `swarm doctor` shows what was measured.",
  ),
  AGENT_NEEDS_NETWORK: entry(
    environment,
    (f) =>
      `${f.file} is for an agent of kind ${f.kind}, which needs its model's API, and sandboxes of workers have no network`,
    () =>
      "`--network gateway` lets it reach its model, and nothing else that you do not allow; agents of the kinds `script` and `command` work without a network.",
  ),
  CREDENTIALS_MISSING: entry(
    credentials,
    (f) => `${f.file} is for ${f.agent}, which needs one of ${f.variables.join(", ")}, and none is set`,
    () =>
      "Set one where you run this command. With `--network gateway`, the default, the gateway holds it and the agent never has it; with another network it goes into the agent's own environment. It is written nowhere.",
  ),
  CREDENTIAL_UNREADABLE: entry(
    credentials,
    (f) => `The credential ${f.reference} cannot be used: ${f.reason}`,
    () =>
      "A credential is env:NAME, file:/path or cmd:program arguments, and holds one line or a login of Claude Code.",
  ),
  CLEANUP_FAILED: entry(
    environment,
    (f) => `Not everything could be removed (${f.reason}): ${f.left.join(", ")}`,
    () =>
      "Run the same command again once the engine answers; what is left carries swarm's labels, so swarm finds it again.",
  ),

  // Commands and files in containers
  EXEC_FAILED: entry(
    environment,
    (f) => `${f.command} could not be run in the container: ${f.reason}`,
    () => "Check whether the container still runs: `swarm sandbox ls`.",
  ),
  PROGRAM_NOT_FOUND: entry(
    usage,
    (f) => `There is no program ${JSON.stringify(f.program)} in the container`,
    () => "Check the name, or use an image that has it.",
  ),
  PROGRAM_NOT_EXECUTABLE: entry(
    usage,
    (f) => `${JSON.stringify(f.program)} in the container cannot be executed`,
    () => "Check that it is a program, has a `#!` line and the right to be executed.",
  ),
  COMMAND_TIMEOUT: entry(
    limited,
    (f) => `${f.command} was ended after its limit of ${f.limitMs / 1000} s`,
    () => "Give it more time, or let it do less.",
  ),
  OUTPUT_TOO_LONG: entry(
    limited,
    (f) => `${f.command} was ended because it wrote more than ${f.limit}`,
    () => "Let it write to a file in the container instead.",
  ),
  FILE_NOT_FOUND: entry(
    usage,
    (f) => `There is no ${f.path} in the container`,
    () => "Check the path; relative ones begin in the working folder.",
  ),
  ARCHIVE_REFUSED: entry(
    conflict,
    (f) => `Files from the container were refused at ${JSON.stringify(f.entry)}: ${f.reason}`,
    () => "Nothing was kept of it. Only plain files and folders with plain names leave a sandbox.",
  ),
  OUTPUTS_INCOMPLETE: entry(
    conflict,
    (f) =>
      `The task ended well, but not all of /outputs came out whole: ${f.first}${f.count > 1 ? `, and ${f.count - 1} more` : ""}`,
    () =>
      "The rest is in the sandbox's folder. What is missing is still in the sandbox: `swarm sandbox exec` can end a writer, give rights or pack a large file, and the next `run` or `destroy` brings it out.",
  ),

  // Limits
  MEMORY_EXHAUSTED: entry(
    limited,
    (f) => `${f.name} used up its memory of ${f.limit}`,
    () => "Give it more memory, or let it do less at once.",
  ),
  DISK_FULL: entry(
    limited,
    (f) => `${f.name} was stopped because it holds ${f.used} on disk; its limit is ${f.limit}`,
    () => "Give it more disk, or let it write less.",
  ),
  FILES_EXHAUSTED: entry(
    limited,
    (f) => `${f.name} was stopped because it holds more than ${f.limit} files`,
    () => "Let it make fewer files, or pack them.",
  ),
  PROCESSES_EXHAUSTED: entry(
    limited,
    (f) => `${f.name} used up its ${f.limit} processes`,
    () => "Give it more (`pids`), or let it start fewer at once.",
  ),

  // Images
  IMAGE_NOT_FOUND: entry(
    environment,
    (f) => `There is no image ${f.image}: ${f.reason}`,
    () => "`swarm image build` makes swarm's own images; check the name of any other one.",
  ),
  IMAGE_UNSUITABLE: entry(
    environment,
    (f) => `The image ${f.image} cannot run a sandbox: it lacks ${f.absent.join(", ")}`,
    () => "Use an image with a C library and these programs; Debian's and Ubuntu's have them.",
  ),
  IMAGE_BUILD_FAILED: entry(
    environment,
    (f) =>
      `${f.image} could not be built; ${shortened(f.step) || "the build"} failed: ${lastWords(f.reason)}`,
    () => "Fix the cause, then run the same command again: finished steps are kept.",
  ),
  IMAGE_PULL_FAILED: entry(
    environment,
    (f) => `${f.image} could not be pulled, twice: ${f.reason}`,
    () => "Check the name, the network and the registry's login; an image that is present is not pulled.",
  ),
  DOCKERFILE_INVALID: entry(
    usage,
    (f) => `${showLocation(f.place)}: ${f.problem}`,
    () => "Correct the Dockerfile, or remove it to have one made for you.",
  ),
  ROOT_FILESYSTEM_FAILED: entry(
    environment,
    (f) => `No root filesystem could be made for the base image: ${f.reason}`,
    () =>
      "Where the engine reaches no image registry, `debootstrap` makes it from Debian packages: that needs root, Linux and a Debian mirror.",
  ),
  DOWNLOAD_FAILED: entry(
    environment,
    (f) => `${f.what} could not be downloaded by npm: ${f.reason}`,
    () => "Check the network and npm's registry (`npm config get registry`).",
  ),
};

function shortened(step: string): string {
  return step.length > 120 ? `${step.slice(0, 119)}…` : step;
}

/** Returns the last lines of a failed build's output, which usually hold the cause. */
function lastWords(reason: string): string {
  const lines = reason.split("\n").filter(Boolean);
  return lines.slice(-4).join(" | ").slice(-600);
}
