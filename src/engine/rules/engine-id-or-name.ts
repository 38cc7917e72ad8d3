const form = /^[A-Za-z0-9][A-Za-z0-9_.-]{0,254}$/;

/**
 * Returns whether a text has the form of an ID or a name in a container engine. Such a text is safe as one
 * segment of a URL's path.
 */
export function isEngineIdOrName(text: string): boolean {
  return form.test(text);
}
