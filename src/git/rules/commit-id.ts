/**
 * Returns whether a text is a full commit hash. Git can never read such a text as a flag or as an expression
 * such as `HEAD~1`.
 */
export function isCommitId(text: string): boolean {
  return /^[0-9a-f]{40}$/.test(text);
}
