const form = /^[A-Za-z0-9][A-Za-z0-9_.-]{0,254}$/;

/** Whether this can be an id or a name of an engine, which is safe as one segment of a URL's path. */
export function isEngineName(text: string): boolean {
  return form.test(text);
}
