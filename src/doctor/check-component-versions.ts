import type { Finding } from "../contract/doctor.ts";
import {
  type EngineComponent,
  findKnownVulnerabilitiesOfComponent,
} from "../engine/rules/find-vulnerabilities.ts";

/**
 * Returns the finding of `swarm doctor` about components of the engine whose versions lack fixes of known
 * vulnerabilities.
 */
export function checkEngineComponentVersions(
  parts: readonly EngineComponent[],
  runtimes: readonly string[],
): Finding {
  const known = parts.map(({ name, version }) => `${name} ${version}`);
  const untold = runtimes.filter((runtime) => !parts.some(({ name }) => name === runtime));
  const facts = [
    known.length > 0 ? known.join(", ") : "the engine does not report the versions of its components",
    ...(untold.length > 0 ? [`the engine does not report the version of ${untold.join(", ")}`] : []),
  ];
  const open = parts.flatMap((part) =>
    findKnownVulnerabilitiesOfComponent(part).map(({ ids, what, fixedIn, packages }) => {
      const safe = [...fixedIn, ...packages.map((one) => `Debian's ${one}`)].join(", ");
      return `${part.name} is older than ${safe}: ${ids.join(", ")}, ${what}`;
    }),
  );
  return {
    subject: "versions",
    state: open.length > 0 ? "weak" : "good",
    fact: [...facts, ...open].join("; "),
    fix: open.length > 0 ? "Update the engine's packages, or require `isolation: strong`." : null,
  };
}
