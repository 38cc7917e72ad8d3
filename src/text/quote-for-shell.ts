/** Quotes a word for a shell command that swarm prints and the user copies. */
export function quoteForShell(text: string): string {
  if (/^[A-Za-z0-9_@%+=:,./-]+$/.test(text)) return text;
  return `'${text.replaceAll("'", "'\\''")}'`;
}
