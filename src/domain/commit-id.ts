/** Whether a text is a full commit id, which git can never read as a flag or an expression. */
export function isCommitId(text: string): boolean {
  return /^[0-9a-f]{40}$/.test(text);
}
