import { hash } from "node:crypto";
import { type EntryToPack, packFiles } from "../archive/pack-files.ts";
import { type ContainerEngine, labels } from "../engine/engine.ts";
import type { ImageBuildEvent, ImageFacts } from "../engine/images.ts";
import {
  agentPackages,
  baseImage,
  debianRelease,
  nodeVersion,
  npmPackageWithNode,
  npmVersion,
  registryRootFilesystemImage,
  rootFilesystemImage,
} from "../engine/rules/base-image.ts";
import { SwarmError } from "../errors/errors.ts";
import type { Lock } from "../machine/locks/lock.ts";
import type { ImageSources } from "./image-sources-port.ts";
import {
  checksumOfInputs,
  formatInputsLabel,
  type ImageInputs,
  parseInputsLabel,
} from "./rules/image-inputs.ts";

export interface EnsureImageDeps {
  readonly engine: ContainerEngine;
  readonly sources: ImageSources;
  /**
   * The lock around image builds. If two processes need the same image, one builds the image while the other
   * waits.
   */
  readonly lock: Lock;
}

export interface BaseImageBuildOptions {
  /**
   * The names of the agents to install, from `agentPackages`. If null, the new image gets the agents of the
   * existing base image.
   */
  readonly agents: readonly string[] | null;
  /** The names of agents to install in addition to `agents`. */
  readonly withAgents?: readonly string[];
  /** Whether to build the image on a new Debian root filesystem, with the newest packages. */
  readonly fresh: boolean;
}

export interface ImageBuildCallbacks {
  readonly onStep: (step: string) => void;
  readonly onEvent: (event: ImageBuildEvent) => void;
}

export interface EnsuredImage {
  readonly id: string;
  readonly tag: string;
  readonly checksum: string;
  readonly built: boolean;
}

const buildWaitMs = 30 * 60_000;

/**
 * Returns swarm's base image: the existing image if its build inputs have not changed, else a newly built
 * one.
 */
export async function ensureBaseImage(
  deps: EnsureImageDeps,
  options: BaseImageBuildOptions,
  report: ImageBuildCallbacks,
  signal?: AbortSignal,
): Promise<EnsuredImage> {
  const { images } = await deps.engine.open();
  const present = await images.find(baseImage, signal);
  const known = options.agents ?? agentNamesInImage(present);
  const added = (options.withAgents ?? []).filter((agent) => !known.includes(agent));
  const agents = [...known, ...added];
  const expected = await baseImageInputs(deps, { agents }, signal);
  const found = options.fresh ? null : upToDate(present, expected);
  if (found) return found;
  const { architecture, builder } = await deps.engine.info(signal);
  const nodePackage = npmPackageWithNode(architecture);
  if (!nodePackage)
    throw new SwarmError("UNSUPPORTED_BY_ENGINE", {
      what: "the base image",
      reason: `Node is not available for the architecture ${architecture}`,
    });

  await using _held = await deps.lock.acquire(buildWaitMs, signal);
  // Another process may have built the image while this process waited for the lock.
  const meanwhile = options.fresh ? null : upToDate(await images.find(baseImage, signal), expected);
  if (meanwhile) return meanwhile;
  const root = await ensureRootImage(deps, options, report, signal);
  const inputs = { ...expected, root: root.id };
  const checksum = checksumOfInputs(inputs, sha256);
  report.onStep(
    `Building ${baseImage}${added.length > 0 ? `, with the new agents ${added.join(", ")}` : ""}`,
  );
  const id = await images.build(
    {
      context: packFiles(await baseContext(deps, nodePackage, signal)),
      tags: [baseImage, `${baseImage}-${checksum}`],
      labels: {
        [labels.sandbox]: "true",
        [labels.role]: "base-image",
        [labels.adapter]: sha256(await deps.sources.readAdapter()),
        [labels.checksum]: checksum,
        [labels.inputs]: formatInputsLabel(inputs),
      },
      args: { ROOT: rootFilesystemImage, AGENTS: packagesOf(agents).join(" ") },
      builder,
      network: true,
      fresh: options.fresh,
    },
    report.onEvent,
    signal,
  );
  return { id, tag: baseImage, checksum, built: true };
}

/**
 * Returns the build inputs of swarm's base image. Leaves out the root filesystem, which swarm replaces only
 * on request.
 */
export async function baseImageInputs(
  { engine, sources }: Pick<EnsureImageDeps, "engine" | "sources">,
  { agents }: { readonly agents: readonly string[] },
  signal?: AbortSignal,
): Promise<ImageInputs> {
  const [dockerfile, programs, certificates, { architecture }] = await Promise.all([
    sources.readImageFile("base.Dockerfile"),
    ownPrograms(sources),
    sources.readCertificates(),
    engine.info(signal),
  ]);
  return {
    Dockerfile: sha256(dockerfile),
    adapter: sha256(Buffer.concat([programs["adapter.mjs"], programs.adapter])),
    gateway: sha256(Buffer.concat([programs["gateway.mjs"], programs.gateway])),
    certificates: sha256(certificates.join("\n")),
    node: nodeVersion,
    npm: npmVersion,
    architecture,
    agents: packagesOf(agents).join(" "),
  };
}

export function sha256(bytes: string | Uint8Array): string {
  return hash("sha256", bytes);
}

/** Returns the given image if all its build inputs except the root filesystem are as expected, else null. */
function upToDate(image: ImageFacts | null, expected: ImageInputs): EnsuredImage | null {
  const inputs = parseInputsLabel(image?.labels[labels.inputs]);
  if (!image || !inputs?.["root"]) return null;
  const checksum = checksumOfInputs({ ...expected, root: inputs["root"] }, sha256);
  return image.labels[labels.checksum] === checksum
    ? { id: image.id, tag: baseImage, checksum, built: false }
    : null;
}

/** Returns the names of the agents that an image contains, in any version. */
export function agentNamesInImage(image: ImageFacts | null): string[] {
  const packages = (parseInputsLabel(image?.labels[labels.inputs])?.["agents"] ?? "").split(" ");
  const nameOf = (spec: string): string => spec.slice(0, spec.lastIndexOf("@"));
  return Object.entries(agentPackages).flatMap(([agent, spec]) =>
    packages.some((present) => present !== "" && nameOf(present) === nameOf(spec)) ? [agent] : [],
  );
}

function packagesOf(agents: readonly string[]): string[] {
  return [...new Set(agents)].sort().map((agent) => {
    const found = agentPackages[agent];
    if (!found)
      throw new SwarmError("INVALID_VALUE", {
        name: "--agents",
        value: agent,
        expected: `agents from this list: ${Object.keys(agentPackages).join(", ")}`,
      });
    return found;
  });
}

/**
 * Returns the image with the Debian root filesystem; reuses an existing image unless `fresh`. Otherwise,
 * pulls the image from a registry, or builds it from Debian packages if the engine cannot reach a registry.
 */
async function ensureRootImage(
  { engine, sources }: EnsureImageDeps,
  { fresh }: BaseImageBuildOptions,
  { onStep }: ImageBuildCallbacks,
  signal?: AbortSignal,
): Promise<ImageFacts> {
  const { images } = await engine.open();
  const present = await images.find(rootFilesystemImage, signal);
  if (present && !fresh) return present;
  if (await engine.reachesRegistry(signal)) {
    onStep(`Pulling ${registryRootFilesystemImage}`);
    await images.pull(registryRootFilesystemImage, signal);
    await images.tag(registryRootFilesystemImage, rootFilesystemImage, signal);
  } else {
    onStep("The engine cannot reach an image registry, so swarm builds the base image from Debian packages");
    await images.import(
      sources.makeRootFilesystem(debianRelease, onStep, signal),
      { tag: rootFilesystemImage, labels: { [labels.sandbox]: "true", [labels.role]: "root-image" } },
      signal,
    );
  }
  const made = await images.find(rootFilesystemImage, signal);
  if (!made)
    throw new SwarmError("IMAGE_NOT_FOUND", {
      image: rootFilesystemImage,
      reason: "another program removed the image during the build",
    });
  return made;
}

async function baseContext(
  { sources }: EnsureImageDeps,
  nodePackage: string,
  signal?: AbortSignal,
): Promise<EntryToPack[]> {
  // Downloads one file after the other, so that a failed download leaves no second one running.
  const node = await sources.download(nodePackage, nodeVersion, signal);
  const npm = await sources.download("npm", npmVersion, signal);
  const [dockerfile, programs, certificates] = await Promise.all([
    sources.readImageFile("base.Dockerfile"),
    ownPrograms(sources),
    sources.readCertificates(),
  ]);
  const plain = { uid: 0, gid: 0, mode: 0o644 };
  return [
    { ...plain, kind: "file", path: "Dockerfile", content: dockerfile },
    { ...plain, kind: "file", path: "node.tgz", from: node },
    { ...plain, kind: "file", path: "npm.tgz", from: npm },
    ...Object.entries(programs).map(
      ([path, content]): EntryToPack => ({ ...plain, kind: "file", path, mode: 0o755, content }),
    ),
    { ...plain, kind: "folder", path: "certificates", mode: 0o755 },
    ...certificates.map(
      (certificate, index): EntryToPack => ({
        ...plain,
        kind: "file",
        path: `certificates/machine-${index + 1}.crt`,
        content: Buffer.from(`${certificate}\n`),
      }),
    ),
  ];
}

/**
 * Returns swarm's own programs that run in containers, with their start scripts, by file name in the image.
 */
async function ownPrograms(sources: ImageSources) {
  return {
    "adapter.mjs": await sources.readAdapter(),
    adapter: await sources.readImageFile("adapter"),
    "gateway.mjs": await sources.readGateway(),
    gateway: await sources.readImageFile("gateway"),
  } satisfies Readonly<Record<string, Uint8Array>>;
}
