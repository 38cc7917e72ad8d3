import type { Finding } from "../contract/doctor.ts";
import type { EngineInfo } from "../engine/engine.ts";
import { chooseSystemCallFilter, describeSystemCallFilter } from "../engine/rules/system-call-filter.ts";

/**
 * Returns the finding of `swarm doctor` about the system-call filter (seccomp) of each container runtime.
 * Image builds always run with the engine's own filter.
 */
export function checkSystemCallFilters(
  { filter, runtimes }: Pick<EngineInfo, "filter" | "runtimes">,
  { programs32Bit }: { readonly programs32Bit: boolean },
): Finding {
  const chosen = runtimes.map((runtime) => ({ runtime, chosen: chooseSystemCallFilter(filter, runtime) }));
  const isOpen = programs32Bit && chosen.some((one) => one.chosen.kind === "ours");
  const isWeak = chosen.some((one) => one.chosen.kind === "engine" && !one.chosen.isEnough);
  const facts = chosen.map(
    (one) => `${one.runtime}: ${describeSystemCallFilter(one.chosen, { programs32Bit })}`,
  );
  return {
    subject: "system calls",
    state: isOpen || isWeak ? "weak" : "good",
    fact: [...facts, "image builds: the engine's own filter"].join("; "),
    fix: isOpen
      ? "Set limits.programs32Bit to false, unless sandboxes must run 32-bit programs."
      : isWeak
        ? "Use Docker on x86-64 or arm64, or require `isolation: strong`."
        : null,
  };
}
