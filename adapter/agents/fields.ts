/** What another program said, of which nothing is known yet. */
export type Said = Readonly<Record<string, unknown>>;

const longestId = 500;

/** An object's fields; none of anything else. */
export function fieldsOf(value: unknown): Said {
  return isSaid(value) ? value : {};
}

/** The objects of a list; none of anything else. */
export function listOf(value: unknown): readonly Said[] {
  return Array.isArray(value) ? value.filter(isSaid) : [];
}

export function textOf(said: Said, field: string): string | null {
  const value = said[field];
  return typeof value === "string" ? value : null;
}

/** A name that the other program gives to something; null for one that is too long to be remembered. */
export function idOf(said: Said, field: string): string | null {
  const id = textOf(said, field);
  return id !== null && id.length <= longestId ? id : null;
}

export function numberOf(said: Said, field: string): number | null {
  const value = said[field];
  return typeof value === "number" && Number.isFinite(value) ? value : null;
}

/** A count of tokens: what is absent or nonsense is none. */
export function countOf(said: Said, field: string): number {
  return Math.max(0, Math.round(numberOf(said, field) ?? 0));
}

/** One line of a program that should write JSON objects; null for anything else it writes. */
export function parseLine(line: string): Said | null {
  try {
    const value: unknown = JSON.parse(line);
    return isSaid(value) ? value : null;
  } catch {
    // Warnings of its libraries, and a last line that was torn.
    return null;
  }
}

function isSaid(value: unknown): value is Said {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
