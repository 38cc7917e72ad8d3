import { cleanText } from "./clean-text.ts";
import { countOf } from "./count-of.ts";
import type { DeniedRequest } from "./generated/swarm-state.ts";

/** Describes a worker's request that the gateway denied, with the reason or the flag that would allow the request. */
export function deniedWords(denied: DeniedRequest): string {
  const what = cleanText(denied.what, 200);
  const often = denied.times > 1 ? `, ${countOf(denied.times, "time")}` : "";
  const flag = allowFlag(denied);
  return `was denied ${what}${often}${flag === null ? whyWords(denied) : `; ${flag} allows it`}`;
}

/** Returns the flag that would allow a denied request; null if no flag would. */
export function allowFlag({ what, why }: Pick<DeniedRequest, "what" | "why">): string | null {
  if (why !== "not-allowed") return null;
  const [, host] = /^(?:CONNECT )?([a-z0-9.-]+\.[a-z][a-z0-9-]*:\d{1,5})$/i.exec(what) ?? [];
  const [, mirror] = /^[A-Z]+ \/r\/\*\/([a-z][a-z0-9-]*)\//.exec(what) ?? [];
  const word = host ?? mirror;
  return word === undefined ? null : `--allow ${word}`;
}

const words: Readonly<Record<string, string>> = {
  token: "its token was wrong",
  "not-allowed": "it is not on the list",
  "no-name": "it did not say which host it means",
  "wrong-name": "it meant another host than it asked for",
  "not-public": "the address is not a public one",
  "not-found": "there is no such host",
  "not-tls": "it did not speak TLS",
  path: "the gateway has no such path",
  method: "the gateway only reads there",
  form: "it was not a valid request",
  budget: "its budget is used up",
  unreachable: "no server answers there",
};

function whyWords({ why }: DeniedRequest): string {
  return Object.hasOwn(words, why) ? `: ${words[why]}` : "";
}
