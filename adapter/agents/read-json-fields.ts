/** A JSON object that another program wrote. The adapter has not validated its fields. */
export type JsonObject = Readonly<Record<string, unknown>>;

const maxIdLength = 500;

/** Returns the given value if it is a JSON object, else an empty object. */
export function toJsonObject(value: unknown): JsonObject {
  return isJsonObject(value) ? value : {};
}

/** Returns the JSON objects in the given list. Returns an empty list if the value is not a list. */
export function toJsonObjects(value: unknown): readonly JsonObject[] {
  return Array.isArray(value) ? value.filter(isJsonObject) : [];
}

export function readStringField(object: JsonObject, field: string): string | null {
  const value = object[field];
  return typeof value === "string" ? value : null;
}

/**
 * Reads a field with an ID that another program chose. Returns null if the ID is missing, is not a string, or
 * is too long to store.
 */
export function readIdField(object: JsonObject, field: string): string | null {
  const id = readStringField(object, field);
  return id !== null && id.length <= maxIdLength ? id : null;
}

export function readNumberField(object: JsonObject, field: string): number | null {
  const value = object[field];
  return typeof value === "number" && Number.isFinite(value) ? value : null;
}

/** Reads a field with a count, such as a number of tokens. Returns 0 if the count is missing or invalid. */
export function readCountField(object: JsonObject, field: string): number {
  return Math.max(0, Math.round(readNumberField(object, field) ?? 0));
}

/** Parses a line as a JSON object. Returns null if the line is not a JSON object. */
export function parseJsonLine(line: string): JsonObject | null {
  try {
    const value: unknown = JSON.parse(line);
    return isJsonObject(value) ? value : null;
  } catch {
    // Ignores lines that are no JSON, such as a library's warning or an incomplete last line.
    return null;
  }
}

function isJsonObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
