/**
 * Parses the location of a file in a sandbox: `id:/path`, or `:/path` for the latest sandbox. Returns null
 * for a path on this machine.
 */
export function parseSandboxPath(
  text: string,
): { readonly sandbox: string | null; readonly path: string } | null {
  const [, sandbox, path] = /^([A-Za-z0-9_-]*):(.*)$/s.exec(text) ?? [];
  if (path === undefined) return null;
  return { sandbox: sandbox || null, path };
}
