/** Whether a text is the full name of a commit, and so nothing that git could take for a flag or an expression. */
export function isCommitId(text: string): boolean {
  return /^[0-9a-f]{40}$/.test(text);
}
