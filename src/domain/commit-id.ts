/** Returns whether a text is a full commit id. Git can never read such a text as a flag or an expression. */
export function isCommitId(text: string): boolean {
  return /^[0-9a-f]{40}$/.test(text);
}
