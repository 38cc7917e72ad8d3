const form = /^aimi-[a-z0-9][a-z0-9-]{0,90}(\.[a-z0-9]{1,10})?$/;

/** Whether a name can be that of a container, volume or network of ours: nothing that is also a path, a flag or a file. */
export function isContainerName(name: string): boolean {
  return form.test(name);
}
