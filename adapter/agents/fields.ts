/** A JSON object from another program, not yet validated. */
export type JsonObject = Readonly<Record<string, unknown>>;

const maxIdLength = 500;

/** The fields of an object; no fields for any other value. */
export function fieldsOf(value: unknown): JsonObject {
  return isJsonObject(value) ? value : {};
}

/** The objects of a list; an empty list for any other value. */
export function listOf(value: unknown): readonly JsonObject[] {
  return Array.isArray(value) ? value.filter(isJsonObject) : [];
}

export function textOf(object: JsonObject, field: string): string | null {
  const value = object[field];
  return typeof value === "string" ? value : null;
}

/** An ID that the other program chose; null if it is too long to store. */
export function idOf(object: JsonObject, field: string): string | null {
  const id = textOf(object, field);
  return id !== null && id.length <= maxIdLength ? id : null;
}

export function numberOf(object: JsonObject, field: string): number | null {
  const value = object[field];
  return typeof value === "number" && Number.isFinite(value) ? value : null;
}

/** A count of tokens; 0 if it is absent or invalid. */
export function countOf(object: JsonObject, field: string): number {
  return Math.max(0, Math.round(numberOf(object, field) ?? 0));
}

/** Parses a line of a program that should write JSON objects; null for any other line. */
export function parseLine(line: string): JsonObject | null {
  try {
    const value: unknown = JSON.parse(line);
    return isJsonObject(value) ? value : null;
  } catch {
    // A warning of one of its libraries, or an incomplete last line.
    return null;
  }
}

function isJsonObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
