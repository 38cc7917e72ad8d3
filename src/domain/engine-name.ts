const form = /^[A-Za-z0-9][A-Za-z0-9_.-]{0,254}$/;

/** Whether an engine can have given this as an id, or accepted it as a name: one step of a path, and nothing else of an address. */
export function isEngineName(text: string): boolean {
  return form.test(text);
}
