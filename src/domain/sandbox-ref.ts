/** `id:/path`, or `:/path` of the latest sandbox; null for a path of this machine. */
export function sandboxRef(text: string): { readonly sandbox: string | null; readonly path: string } | null {
  const [, sandbox, path] = /^([A-Za-z0-9_-]*):(.*)$/s.exec(text) ?? [];
  if (path === undefined) return null;
  return { sandbox: sandbox || null, path };
}
