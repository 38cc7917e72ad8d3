import validate from "./generated/gateway.js";

/** The first problem of a gateway's line; null if it has the form of a message. */
export function findGatewayProblem(value: unknown): string | null {
  if (validate(value)) return null;
  const [first] = validate.errors ?? [];
  return `${first?.instancePath || "/"} ${first?.message ?? "is not as it should be"}`;
}
