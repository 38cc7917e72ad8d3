const form = /^aimi-[a-z0-9][a-z0-9-]{0,90}(\.[a-z0-9]{1,10})?$/;

/** Whether swarm can have given this name to a container, volume or network; such a name is never a path or a flag. */
export function isContainerName(name: string): boolean {
  return form.test(name);
}
