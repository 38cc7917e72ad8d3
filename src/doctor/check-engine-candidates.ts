import type { Finding } from "../contract/doctor.ts";
import type { TriedEngineCandidate } from "../engine/engine.ts";
import { formatCount } from "../text/format-count.ts";
import { finding } from "./finding.ts";

/** Returns the findings of `swarm doctor` about the engine, and about candidates that swarm cannot use. */
export function checkEngineCandidates(tried: readonly TriedEngineCandidate[]): Finding[] {
  const chosen = tried.find(({ info }) => info);
  const refused = tried
    .filter((candidate) => candidate.refused !== null && candidate.refused !== "the socket does not exist")
    .map(({ origin, endpoint, refused: why }) =>
      finding("engine candidate", "weak", `${origin} at ${endpoint}: ${why}`, null),
    );
  if (!chosen?.info) {
    const named = tried.filter(({ refused: why }) => why !== "the socket does not exist");
    const places = named.map(({ origin, refused: why }) => `${origin}: ${why}`);
    const absent = tried.length - named.length;
    if (absent > 0)
      places.push(
        tried.length === 1
          ? `${tried[0]?.origin}: the socket does not exist`
          : `no socket exists at ${formatCount(absent, "usual path")}`,
      );
    return [
      ...refused,
      finding("engine", "missing", `no engine answers (${places.join("; ")})`, remedyFor(tried)),
    ];
  }
  const { version, endpoint, storageDriver, architecture } = chosen.info;
  return [
    ...refused,
    finding(
      "engine",
      "good",
      `${chosen.origin} at ${endpoint}: version ${version}, ${storageDriver}, ${architecture}`,
    ),
  ];
}

/**
 * Returns advice on how to get a container engine. If the user has selected one engine, the advice is about
 * this engine, because swarm tries no other.
 */
function remedyFor(tried: readonly TriedEngineCandidate[]): string {
  const [first] = tried;
  if (tried.length !== 1 || !first) return "`swarm engine start`, or `swarm doctor --fix`";
  return `Start the selected engine, or remove its selection (${first.origin}) and run \`swarm engine start\`.`;
}
