import validate from "./generated/acp.js";

/** The first thing that is wrong with a line of the protocol; null when it has the form of a message. */
export function findMessageProblem(value: unknown): string | null {
  if (validate(value)) return null;
  const [first] = validate.errors ?? [];
  return `${first?.instancePath || "/"} ${first?.message ?? "is not as it should be"}`;
}
