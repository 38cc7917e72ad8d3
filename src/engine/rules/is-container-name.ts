const form = /^aimi-[a-z0-9][a-z0-9-]{0,90}(\.[a-z0-9]{1,10})?$/;

/**
 * Returns whether a name has the form that swarm gives to names of containers, volumes and networks. Such a name is
 * never a path or a flag.
 */
export function isContainerName(name: string): boolean {
  return form.test(name);
}
