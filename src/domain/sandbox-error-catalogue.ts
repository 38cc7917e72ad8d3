import { type ErrorEntry, entry } from "./error-entry.ts";
import { exitCodes } from "./exit-codes.ts";
import { type Place, showPlace } from "./place.ts";

/** What must be told to each error about containers, images and sandboxes; the wording is below, once. */
export interface SandboxErrorFacts {
  // Words and files for sandboxes
  SANDBOX_SPEC_INVALID: { readonly place: Place; readonly problem: string; readonly hint: string };
  PATH_REFUSED: { readonly path: string; readonly reason: string };
  // Containers
  SPEC_REFUSED: { readonly field: string; readonly reason: string };
  CONTAINER_REFUSED: { readonly name: string; readonly breaches: readonly string[] };
  CONTAINER_GONE: { readonly id: string };
  CONTAINER_NOT_RUNNING: { readonly id: string; readonly state: string };
  CONTAINER_START_FAILED: { readonly name: string; readonly reason: string };
  NAME_TAKEN: { readonly name: string };
  UNSUPPORTED_BY_ENGINE: { readonly what: string; readonly reason: string };
  // Commands and files in containers
  EXEC_FAILED: { readonly command: string; readonly reason: string };
  FILE_NOT_FOUND: { readonly path: string };
  ARCHIVE_REFUSED: { readonly entry: string; readonly reason: string };
  // Limits
  // Images
  IMAGE_NOT_FOUND: { readonly image: string; readonly reason: string };
  IMAGE_UNSUITABLE: { readonly image: string; readonly absent: readonly string[] };
  IMAGE_BUILD_FAILED: { readonly image: string; readonly step: string; readonly reason: string };
  DOCKERFILE_INVALID: { readonly place: Place; readonly problem: string };
  ROOT_FILESYSTEM_FAILED: { readonly reason: string };
  DOWNLOAD_FAILED: { readonly what: string; readonly reason: string };
}

const { usage, environment, conflict } = exitCodes;

export const sandboxCatalogue: {
  readonly [Code in keyof SandboxErrorFacts]: ErrorEntry<SandboxErrorFacts[Code]>;
} = {
  // Words and files for sandboxes
  SANDBOX_SPEC_INVALID: entry(
    usage,
    (f) => `${showPlace(f.place)}: ${f.problem}`,
    (f) => f.hint,
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
    () =>
      "It was removed. Look at the engine's defaults (daemon.json); `swarm doctor` measures its runtimes.",
  ),
  CONTAINER_GONE: entry(
    conflict,
    (f) => `The engine has no container ${f.id}`,
    () => "It was removed; make a new one.",
  ),
  CONTAINER_NOT_RUNNING: entry(
    conflict,
    (f) => `The container ${f.id} does not run: it is ${f.state}`,
    () => "Start it first, or make a new one.",
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
  UNSUPPORTED_BY_ENGINE: entry(
    environment,
    (f) => `The engine cannot do this: ${f.what} (${f.reason})`,
    () => "Leave it out, or use another engine or runtime.",
  ),

  // Commands and files in containers
  EXEC_FAILED: entry(
    environment,
    (f) => `${f.command} could not be run in the container: ${f.reason}`,
    () => "Look whether the container still runs: `swarm sandbox ls`.",
  ),
  FILE_NOT_FOUND: entry(
    usage,
    (f) => `There is no ${f.path} in the container`,
    () => "Check the path; relative ones begin in the working folder.",
  ),
  ARCHIVE_REFUSED: entry(
    conflict,
    (f) => `What came out of the container was refused at ${JSON.stringify(f.entry)}: ${f.reason}`,
    () => "Nothing was kept of it. Only plain files and folders with plain names leave a sandbox.",
  ),

  // Limits

  // Images
  IMAGE_NOT_FOUND: entry(
    environment,
    (f) => `There is no image ${f.image}: ${f.reason}`,
    () => "`swarm image build` makes ours; check the name of any other one.",
  ),
  IMAGE_UNSUITABLE: entry(
    environment,
    (f) => `The image ${f.image} cannot carry a sandbox: it lacks ${f.absent.join(", ")}`,
    () => "Use an image with a C library and these programs; Debian's and Ubuntu's have them.",
  ),
  IMAGE_BUILD_FAILED: entry(
    environment,
    (f) =>
      `${f.image} could not be built; ${shortened(f.step) || "the build"} failed: ${lastWords(f.reason)}`,
    () => "Mend the cause, then run the same command again: finished steps are kept.",
  ),
  DOCKERFILE_INVALID: entry(
    usage,
    (f) => `${showPlace(f.place)}: ${f.problem}`,
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

/** The cause stands at the end of what a build says. */
function lastWords(reason: string): string {
  const lines = reason.split("\n").filter(Boolean);
  return lines.slice(-4).join(" | ").slice(-600);
}
