import validate from "./generated/gateway.js";

/** The first thing that is wrong with a line of a gateway; null when it has the form of a message. */
export function findGatewayProblem(value: unknown): string | null {
  if (validate(value)) return null;
  const [first] = validate.errors ?? [];
  return `${first?.instancePath || "/"} ${first?.message ?? "is not as it should be"}`;
}
