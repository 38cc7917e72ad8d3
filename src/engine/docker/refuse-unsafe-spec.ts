import type { ContainerSpec, VolumeMount } from "../containers.ts";
import { isContainerName } from "../rules/is-container-name.ts";
import { refuse, refuseInvalidImage, requireSwarmName } from "./require-safe-names.ts";

/** Throws if a container spec is malformed or could give the container access to the host. */
export function refuseUnsafeContainerSpec({
  name,
  image,
  env,
  network,
  volumes,
  workdir,
  command,
}: Pick<ContainerSpec, "name" | "image" | "env" | "network" | "volumes" | "workdir" | "command">): void {
  requireSwarmName(name);
  refuseInvalidImage(image);
  // For an engine, `host` and `container:…` mean the network of the host or of another container.
  if (network.kind === "named") requireSwarmName(network.name);
  for (const variable of Object.keys(env))
    if (!/^[A-Za-z_][A-Za-z0-9_]*$/.test(variable))
      refuse(
        `The variable ${JSON.stringify(variable)}`,
        "a variable's name may contain only letters, digits and _, and must not begin with a digit",
      );
  for (const [variable, value] of Object.entries(env))
    if (value.includes("\0"))
      refuse(`The variable ${variable}`, "the variable's value contains a NUL character");
  const refuseVolume = ({ name }: VolumeMount, reason: string) =>
    refuse(`The volume ${JSON.stringify(name)}`, reason);
  // If a volume's name begins with a slash, the engine takes it for a folder of the host.
  for (const volume of volumes)
    if (!isContainerName(volume.name) || !/^\/[a-z]/.test(volume.path))
      refuseVolume(volume, "a volume's name must begin with aimi- and its path must be absolute");
  // Runtimes mount files of their own in /dev, /proc and /sys, and links in a volume could redirect those
  // mounts.
  for (const volume of volumes)
    if (/^\/(?:dev|proc|sys)(?:\/|$)/.test(volume.path))
      refuseVolume(
        volume,
        `no volume may be mounted at ${volume.path}, because the container runtime uses /dev, /proc and /sys`,
      );
  if (!workdir.startsWith("/"))
    refuse(`The working folder ${JSON.stringify(workdir)}`, "the path must be absolute");
  if (command.length === 0) refuse("The command", "the command is empty");
}
