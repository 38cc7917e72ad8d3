import { mirrorUrls } from "./egress.ts";
import { type AddressWords, parseRegistry } from "./endpoint-words.ts";

/** A registry that the gateway reads from, with what lets one in there by where the secrets are. */
export type MirrorPlan = Pick<AddressWords, "name" | "url" | "headers">;

/** Where the mirrors read from that presets have opened: the user's own registries before the public ones. */
export function planMirrors(opened: readonly string[], registries: readonly string[]): MirrorPlan[] {
  const own = registries.map(parseRegistry).filter((parsed) => parsed.kind === "address");
  return opened.flatMap((name) => {
    const chosen = own.find((registry) => registry.name === name);
    if (chosen) return [{ name, url: chosen.url, headers: chosen.headers }];
    const url = Object.hasOwn(mirrorUrls, name) ? mirrorUrls[name] : undefined;
    return url === undefined ? [] : [{ name, url, headers: {} }];
  });
}
