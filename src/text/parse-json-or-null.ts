/** Parses JSON. Returns null for a text that is not JSON, and for the text `null`. */
export function parseJsonOrNull(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}
