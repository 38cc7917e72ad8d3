import validate from "./generated/acp.js";

/** Returns the first problem of a line that the adapter sent, or null if the line is a valid message. */
export function findAdapterMessageProblem(value: unknown): string | null {
  if (validate(value)) return null;
  const [first] = validate.errors ?? [];
  return `${first?.instancePath || "/"} ${first?.message ?? "does not match the schema"}`;
}
