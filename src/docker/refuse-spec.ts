import { isContainerName } from "../domain/container-name.ts";
import { SwarmError } from "../domain/errors.ts";
import type { ContainerSpec } from "../ports/containers.ts";
import { refuseImage, refuseOurs } from "./refuse-name.ts";

/** Refuses what no engine should ever be asked for, before it is. */
export function refuseSpec({ name, image, env, network, volumes, workdir, command }: ContainerSpec): void {
  const refuse = (field: string, reason: string): never => {
    throw new SwarmError("SPEC_REFUSED", { field, reason });
  };
  refuseOurs(name);
  refuseImage(image);
  // `host` and `container:…` are the engine's words for networks of others.
  if (network.kind === "named") refuseOurs(network.name);
  for (const variable of Object.keys(env))
    if (!/^[A-Za-z_][A-Za-z0-9_]*$/.test(variable))
      refuse(`The variable ${JSON.stringify(variable)}`, "names are letters, digits and _");
  for (const [variable, value] of Object.entries(env))
    if (value.includes("\0")) refuse(`The variable ${variable}`, "its value holds a NUL");
  // A name that begins with a slash would be a folder of the host.
  for (const volume of volumes)
    if (!isContainerName(volume.name) || !/^\/[a-z]/.test(volume.path))
      refuse(`The volume ${JSON.stringify(volume.name)}`, "volumes are ours, at absolute paths");
  // There a runtime mounts what it makes itself, and a volume can hold links that lead it elsewhere.
  for (const { name, path } of volumes)
    if (/^\/(?:dev|proc|sys)(?:\/|$)/.test(path))
      refuse(`The volume ${JSON.stringify(name)}`, `${path} is the runtime's own`);
  if (!workdir.startsWith("/"))
    refuse(`The working folder ${JSON.stringify(workdir)}`, "it must be absolute");
  if (command.length === 0) refuse("The command", "it is empty");
}
