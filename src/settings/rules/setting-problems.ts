import type { SettingsFile } from "../../contract/config.ts";
import { egressPresets, parseAllowList } from "../../egress/allow-list.ts";
import {
  modelApis,
  modelEndpointSyntax,
  packageRegistrySyntax,
  parseModelEndpoint,
  parsePackageRegistry,
  redactEndpoint,
} from "../../egress/parse-endpoint.ts";
import { parseSecretReference, secretReferenceSyntax } from "../../secrets/rules/secret-reference.ts";
import { sanitizeText } from "../../text/sanitize-text.ts";

/** An invalid value of a setting. The value breaks a rule that the schema cannot express. */
interface SettingProblem {
  readonly pointer: string;
  /**
   * The part of the value that messages may show. The user may have typed a secret where a reference to the
   * secret belongs.
   */
  readonly shown: string;
  readonly expected: string;
}

/**
 * Finds invalid hosts, addresses and references to secrets in settings. For flags and environment variables,
 * this check precedes the schema validation, whose messages could quote a secret.
 */
export function findSettingProblems(settings: SettingsFile): SettingProblem[] {
  return [
    ...wordsIn(settings.allow).flatMap(({ word, index }) => allowProblems(word, index)),
    ...addressProblems("modelEndpoints", settings.modelEndpoints, parseModelEndpoint, modelEndpointSyntax),
    ...addressProblems("registries", settings.registries, parsePackageRegistry, packageRegistrySyntax),
    ...registryNameProblems(settings.registries),
    ...credentialProblems(settings.credentials),
  ];
}

function allowProblems(word: string, index: number): SettingProblem[] {
  return parseAllowList([word]).problems.map(({ problem }) => ({
    pointer: `/allow/${index}`,
    shown: word.includes("@") ? "…" : sanitizeText(word, 260),
    expected: `host:port or the name of a preset; the given value ${problem}`,
  }));
}

function addressProblems(
  setting: "modelEndpoints" | "registries",
  value: unknown,
  parse: typeof parseModelEndpoint,
  form: string,
): SettingProblem[] {
  const names = new Set<string>();
  return wordsIn(value).flatMap(({ word, index }) => {
    const parsed = parse(word);
    const isTwice = parsed.kind === "address" && names.has(parsed.name);
    if (parsed.kind === "address") names.add(parsed.name);
    if (parsed.kind === "address" && !isTwice) return [];
    const expected = parsed.kind === "refused" ? parsed.reason : `${form}; each name may appear only once`;
    return [{ pointer: `/${setting}/${index}`, shown: redactEndpoint(word), expected }];
  });
}

/**
 * Finds registries that the user set for a preset without a package mirror. Only a mirror can use another
 * registry than the public one.
 */
function registryNameProblems(value: unknown): SettingProblem[] {
  const mirrored = Object.values(egressPresets).flatMap(({ mirror }) => mirror ?? []);
  return wordsIn(value).flatMap(({ word, index }) => {
    const parsed = parsePackageRegistry(word);
    if (parsed.kind === "refused" || mirrored.includes(parsed.name)) return [];
    const expected = `${packageRegistrySyntax}, where the preset is one of ${mirrored.join(", ")}; for any other registry, allow its host`;
    return [{ pointer: `/registries/${index}`, shown: redactEndpoint(word), expected }];
  });
}

function credentialProblems(value: unknown): SettingProblem[] {
  if (typeof value !== "object" || value === null) return [];
  return Object.entries(value).flatMap(([provider, reference]) => {
    const parsed = parseSecretReference(String(reference));
    const isKnown = modelApis.some((api) => api === provider);
    if (isKnown && parsed.kind !== "refused") return [];
    const expected =
      isKnown && parsed.kind === "refused"
        ? `a reference to a secret: ${secretReferenceSyntax}; swarm refused this reference: ${parsed.reason}`
        : `one of the names ${modelApis.join(", ")}, and as its value a reference to a secret: ${secretReferenceSyntax}`;
    return [{ pointer: `/credentials/${sanitizeText(provider, 40)}`, shown: "…", expected }];
  });
}

function wordsIn(value: unknown): { readonly word: string; readonly index: number }[] {
  if (!Array.isArray(value)) return [];
  return value.flatMap((word: unknown, index) => (typeof word === "string" ? [{ word, index }] : []));
}
