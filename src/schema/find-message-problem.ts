import validate from "./generated/acp.js";

/** The first problem of a protocol line; null if it has the form of a message. */
export function findMessageProblem(value: unknown): string | null {
  if (validate(value)) return null;
  const [first] = validate.errors ?? [];
  return `${first?.instancePath || "/"} ${first?.message ?? "is not as it should be"}`;
}
