const label = "[A-Za-z0-9](?:[A-Za-z0-9-]*[A-Za-z0-9])?";
const registry = `${label}(?:\\.${label})*(?::[0-9]{1,5})?`;
const part = "[a-z0-9]+(?:(?:\\.|__?|-+)[a-z0-9]+)*";
const tag = "[A-Za-z0-9_][A-Za-z0-9_.-]{0,127}";
const form = new RegExp(`^(?:${registry}/)?${part}(?:/${part})*(?::${tag})?(?:@sha256:[0-9a-f]{64})?$`);

/**
 * Returns whether a text is an image's ID, or a reference to an image such as `ubuntu:24.04`. A digest in
 * the reference must be SHA-256. Such a text is safe as a command's argument: no program reads it as an
 * option, a path or two arguments.
 */
export function isImageReference(text: string): boolean {
  return text.length <= 255 && form.test(text);
}
