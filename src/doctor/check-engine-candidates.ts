import type { Finding } from "../contract/doctor.ts";
import type { TriedEngineCandidate } from "../engine/engine.ts";
import { formatCount } from "../text/format-count.ts";
import { good, missing, weak } from "./finding.ts";

const absent = "the socket does not exist";

/** Returns the findings of `swarm doctor` about the engine, and about candidates that swarm cannot use. */
export function checkEngineCandidates(tried: readonly TriedEngineCandidate[]): Finding[] {
  const chosen = tried.find(({ info }) => info);
  const refused = tried
    .filter((candidate) => candidate.refused !== null && candidate.refused !== absent)
    .map(({ origin, endpoint, refused: why }) =>
      weak("engine candidate", `${origin} at ${endpoint}: ${why}`, null),
    );
  if (!chosen?.info) return [...refused, missingEngine(tried)];
  const { version, endpoint, storageDriver, architecture } = chosen.info;
  const fact = `${chosen.origin} at ${endpoint}: version ${version}, ${storageDriver}, ${architecture}`;
  return [...refused, good("engine", fact)];
}

function missingEngine(tried: readonly TriedEngineCandidate[]): Finding {
  const [first] = tried;
  const named = tried.filter(({ refused }) => refused !== absent);
  const left = tried.length - named.length;
  const places = named.map(({ origin, refused }) => `${origin}: ${refused}`);
  if (left > 0)
    places.push(
      tried.length === 1
        ? `${first?.origin}: ${absent}`
        : `no socket exists at ${formatCount(left, "usual path")}`,
    );
  // If the user has selected one engine, the advice is about this engine, because swarm tries no other.
  const remedy =
    tried.length === 1
      ? `Start the selected engine, or remove its selection (${first?.origin}) and run \`swarm engine start\`.`
      : "`swarm engine start`, or `swarm doctor --fix`";
  return missing("engine", `no engine answers (${places.join("; ")})`, remedy);
}
