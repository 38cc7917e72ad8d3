import validate from "./generated/gateway.js";

/** Returns the first problem of a line that the gateway sent, or null if the line is a valid message. */
export function findGatewayMessageProblem(value: unknown): string | null {
  if (validate(value)) return null;
  const [first] = validate.errors ?? [];
  return `${first?.instancePath || "/"} ${first?.message ?? "does not match the schema"}`;
}
