import { isEmbeddingPath, isResponsesPath, type ModelApiName } from "../http/request-paths.ts";
import {
  type ExtractedJsonRecord,
  findExtractedValue,
  findExtractedValues,
  hasExtractedValue,
} from "../usage/extracted-values.ts";
import { readOwnMember, toValidModelName } from "../usage/read-usage.ts";
import { anthropicPriceFactor } from "../usage/usage-anthropic.ts";
import { openaiPriceFactor } from "../usage/usage-openai.ts";

/** The values from a model request's body that determine the call's maximum cost. */
export interface ParsedModelRequest {
  readonly model: string | null;
  /** The maximum number of output tokens, summed over all answers that the request asks for. */
  readonly outputTokens: number;
  /**
   * Whether the input may have more tokens than the body has bytes. This is possible if the body contains a
   * video or document, or refers to content that the API stores.
   */
  readonly readsStored: boolean;
  /** The number of pictures in the request. A picture's tokens do not depend on its size in bytes. */
  readonly pictures: number;
  /** Whether the API itself runs tools, such as a web search. The tools' results count as input tokens. */
  readonly hasTools: boolean;
  /**
   * Whether the API may first compact the conversation. The API then reads and writes the conversation once
   * more, which costs additional tokens.
   */
  readonly mayCompact: boolean;
  readonly priceFactor: number;
}

/** The maximum length of an answer, in tokens, that the gateway assumes if the request sets no limit. */
export const assumedMaxAnswerTokens: Readonly<Record<ModelApiName, number>> = {
  anthropic: 128_000,
  openai: 128_000,
  google: 65_536,
};
/**
 * The maximum values that the gateway uses for a request's token limit and number of answers. No model
 * reaches them, so the gateway treats larger values as these maximums.
 */
const maxTokens = 1_000_000;
const maxAnswers = 128;

const anthropicParts = "messages.*.content.*";
const sources = [`${anthropicParts}.source.type`, `${anthropicParts}.content.*.source.type`];
const images = [
  "input.*.content.*.image_url",
  "input.*.output.*.image_url",
  "messages.*.content.*.image_url",
];
const anthropicKinds = [`${anthropicParts}.type`, `${anthropicParts}.content.*.type`];
const googleKinds = googlePaths("contents.*.parts.*.inlineData.mimeType");
const storedIn: Readonly<Record<ModelApiName, readonly string[]>> = {
  anthropic: ["mcp_servers.*?"],
  openai: [
    "previous_response_id",
    "conversation",
    "input.*.content.*.file_id",
    "input.*.content.*.file_url",
    "input.*.output.*.file_id",
    "input.*.output.*.file_url",
    "messages.*.content.*.file.file_id",
    "input.*.content.*.file_data?",
    "input.*.output.*.file_data?",
    "messages.*.content.*.file.file_data?",
    "messages.*.content.*.input_audio?",
    "input.*.content.*.input_audio?",
  ],
  google: googlePaths("cachedContent", "contents.*.parts.*.fileData?"),
};
const toolTypes = ["tools.*.type", "input.*.tools.*.type"];
const toolNames = googlePaths(
  "tools.*.googleSearch?",
  "tools.*.googleSearchRetrieval?",
  "tools.*.urlContext?",
  "tools.*.codeExecution?",
  "tools.*.fileSearch?",
  "tools.*.googleMaps?",
);
const remoteTool =
  /^(web_search|web_fetch|file_search|code_interpreter|code_execution|mcp|image_gen|advisor)/;
const compactions = ["context_management.edits.*.type", "context_management.*.type"];
const limits = googlePaths(
  "generationConfig.maxOutputTokens",
  "generationConfig.max_output_tokens",
  "generation_config.maxOutputTokens",
);
const candidates = googlePaths(
  "generationConfig.candidateCount",
  "generationConfig.candidate_count",
  "generation_config.candidateCount",
);

/** The JSON paths whose values `parseModelRequest` reads from a request's body. */
export const modelRequestJsonPaths: Readonly<Record<ModelApiName, readonly string[]>> = {
  anthropic: [
    "model",
    "max_tokens",
    "speed",
    "inference_geo",
    "tools.*.type",
    ...sources,
    ...anthropicKinds,
    ...storedIn.anthropic,
    ...compactions,
  ],
  openai: [
    "model",
    "max_tokens",
    "max_completion_tokens",
    "max_output_tokens",
    "n",
    "best_of",
    "service_tier",
    "stream",
    "stream_options",
    "prompt",
    "prediction",
    "input.*.type",
    ...images,
    ...storedIn.openai,
    ...toolTypes,
    ...compactions,
  ],
  google: ["model", ...limits, ...candidates, ...googleKinds, ...storedIn.google, ...toolNames],
};

export function parseModelRequest(
  api: ModelApiName,
  path: string,
  record: ExtractedJsonRecord,
): ParsedModelRequest {
  const model = toValidModelName(findExtractedValue(record, "model"));
  const types = findExtractedValues(record, ...toolTypes);
  const answers = amountAt(record, api === "google" ? candidates : ["n", "best_of"], 1);
  const answer = amountAt(record, limitsOf(api, path), assumedMaxAnswerTokens[api]);
  const speed = findExtractedValue(record, "speed");
  return {
    model,
    outputTokens: isEmbeddingPath(path)
      ? 0
      : Math.min(answer, maxTokens) * Math.min(Math.max(1, answers), maxAnswers),
    readsStored: hasExtractedValue(record, ...storedIn[api]) || refersToMore(api, path, record),
    pictures: picturesIn(api, record),
    hasTools:
      hasExtractedValue(record, ...toolNames) ||
      types.some((type) => typeof type !== "string" || remoteTool.test(type)),
    mayCompact: findExtractedValues(record, ...compactions).some((type) => /^compact/.test(String(type))),
    priceFactor:
      api === "anthropic"
        ? anthropicPriceFactor(speed, findExtractedValue(record, "inference_geo"), model)
        : openaiPriceFactor(findExtractedValue(record, "service_tier"), model),
  };
}

function limitsOf(api: ModelApiName, path: string): readonly string[] {
  if (api === "google") return limits;
  if (api === "anthropic") return ["max_tokens"];
  return isResponsesPath(path) ? ["max_output_tokens"] : ["max_completion_tokens", "max_tokens"];
}

/**
 * Returns the largest number at the given paths, because the API may use any of them. Uses `otherwise` for an
 * invalid value, or if there is no value.
 */
function amountAt(record: ExtractedJsonRecord, paths: readonly string[], otherwise: number): number {
  const values = findExtractedValues(record, ...paths).filter((value) => value !== null);
  const amounts = values.map((value) => {
    const amount = typeof value === "string" ? Number(value) : value;
    return typeof amount === "number" && amount >= 0 ? Math.ceil(amount) : otherwise;
  });
  return amounts.length === 0 ? otherwise : Math.max(...amounts);
}

function refersToMore(api: ModelApiName, path: string, record: ExtractedJsonRecord): boolean {
  if (api === "anthropic")
    return (
      findExtractedValues(record, ...sources).some(isStoredElsewhere) ||
      findExtractedValues(record, ...anthropicKinds).includes("document")
    );
  if (api === "google") return findExtractedValues(record, ...googleKinds).some((kind) => !isPicture(kind));
  if (isResponsesPath(path) && hasExtractedValue(record, "prompt")) return true;
  if (findExtractedValues(record, "input.*.type").includes("item_reference")) return true;
  return images
    .flatMap((each) => record.values.get(each) ?? [])
    .some(({ value, start, end }) =>
      value === undefined ? end - start < 4096 : isAddress(readOwnMember(value, "url") ?? value),
    );
}

function picturesIn(api: ModelApiName, record: ExtractedJsonRecord): number {
  if (api === "openai") return findExtractedValues(record, ...images).length;
  return api === "anthropic"
    ? findExtractedValues(record, ...anthropicKinds).filter((kind) => kind === "image").length
    : findExtractedValues(record, ...googleKinds).filter(isPicture).length;
}

function isPicture(mimeType: unknown): boolean {
  return typeof mimeType === "string" && /^image\//i.test(mimeType);
}

function isStoredElsewhere(type: unknown): boolean {
  return type !== "base64" && type !== "text" && type !== "content";
}

function isAddress(value: unknown): boolean {
  return typeof value === "string" && !/^data:/i.test(value);
}

/**
 * Returns all spellings of paths in a Gemini request. Gemini accepts each field name in camel case and in snake
 * case. Clients that use a subscription's login wrap the body in a field `request`.
 */
function googlePaths(...paths: readonly string[]): readonly string[] {
  const inSnakeCase = paths.map((path) => path.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`));
  const spellings = [...new Set([...paths, ...inSnakeCase])];
  return [...spellings, ...spellings.map((path) => `request.${path}`)];
}
