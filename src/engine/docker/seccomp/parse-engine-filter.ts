import type { EngineSystemCallFilter } from "../../rules/system-call-filter.ts";

/** Reads the engine's default seccomp filter from the engine's answer to `GET /info`. */
export function parseEngineSystemCallFilter(info: object): EngineSystemCallFilter {
  const { Architecture, SecurityOptions } = info as { Architecture?: unknown; SecurityOptions?: unknown };
  const options = (Array.isArray(SecurityOptions) ? SecurityOptions : []).map(String);
  const seccomp = options.map((option) => /^name=seccomp(?:,profile=(.*))?$/.exec(option)).find(Boolean);
  return {
    architecture: String(Architecture ?? ""),
    profile: seccomp ? (seccomp[1] ?? "default") : null,
    // Only Podman reports a `BuildahVersion`.
    isPodman: "BuildahVersion" in info,
  };
}
