import { mirrorUrls } from "./egress.ts";
import { type ParsedAddress, parseRegistry } from "./endpoint-words.ts";

/** A registry that the gateway reads from, with the headers that authenticate it, as references to secrets. */
export type MirrorPlan = Pick<ParsedAddress, "name" | "url" | "headers">;

/** The upstreams of the mirrors that presets have opened: the user's own registry, else the public one. */
export function planMirrors(opened: readonly string[], registries: readonly string[]): MirrorPlan[] {
  const own = registries.map(parseRegistry).filter((parsed) => parsed.kind === "address");
  return opened.flatMap((name) => {
    const chosen = own.find((registry) => registry.name === name);
    if (chosen) return [{ name, url: chosen.url, headers: chosen.headers }];
    const url = Object.hasOwn(mirrorUrls, name) ? mirrorUrls[name] : undefined;
    return url === undefined ? [] : [{ name, url, headers: {} }];
  });
}
