import { defaultRegistryUrls } from "./allow-list.ts";
import { type ParsedUpstream, parsePackageRegistry } from "./parse-endpoint.ts";

/**
 * The package registry to which a mirror in the gateway forwards requests. `headers` holds references to
 * secrets.
 */
export type MirrorPlan = Pick<ParsedUpstream, "name" | "url" | "headers">;

/**
 * Returns the upstream registry of each package mirror that the opened presets contain: the registry from the
 * settings, or else the public registry.
 */
export function planMirrors(opened: readonly string[], registries: readonly string[]): MirrorPlan[] {
  const own = registries.map(parsePackageRegistry).filter((parsed) => parsed.kind === "address");
  return opened.flatMap((name) => {
    const chosen = own.find((registry) => registry.name === name);
    if (chosen) return [{ name, url: chosen.url, headers: chosen.headers }];
    const url = Object.hasOwn(defaultRegistryUrls, name) ? defaultRegistryUrls[name] : undefined;
    return url === undefined ? [] : [{ name, url, headers: {} }];
  });
}
