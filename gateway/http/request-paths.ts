export type ModelApiName = "anthropic" | "openai" | "google";

/** Matches a path of plain characters, which every server interprets in the same way. */
const plainPath = /^[\w./:@-]*$/;

const freeEndings: Readonly<Record<ModelApiName, RegExp>> = {
  anthropic: /\/messages\/count_tokens$/,
  openai: /\/responses\/input_tokens$/,
  google: /:countTokens$/,
};

/** Whether a call to this path only asks the API to count tokens, which costs nothing. */
export function isTokenCountingPath(api: ModelApiName, path: string): boolean {
  const bare = withoutQuery(path);
  return plainPath.test(bare) && !bare.includes("..") && freeEndings[api].test(bare);
}

/**
 * Whether the path is that of OpenAI's Chat Completions or the older Completions. Both report the usage of a
 * streamed answer only if the request asks for it.
 */
export function isCompletionsPath(path: string): boolean {
  return /\/completions$/.test(withoutQuery(path));
}

export function isResponsesPath(path: string): boolean {
  return /\/responses(\/|$)/.test(withoutQuery(path));
}

/** Whether a call to this path computes embeddings, and so has no output tokens. */
export function isEmbeddingPath(path: string): boolean {
  return /\/embeddings$|:(embedContent|batchEmbedContents)$/.test(withoutQuery(path));
}

/**
 * Returns the model's name in a Gemini path such as `/v1beta/models/<model>:generateContent`; null if the
 * path has none.
 */
export function findModelNameInPath(path: string): string | null {
  const [, encoded] = /\/(?:models|tunedModels)\/([^/:]{1,200}):/.exec(withoutQuery(path)) ?? [];
  return encoded === undefined ? null : (decodePercent(encoded) ?? encoded);
}

/** Returns the percent-decoded text, or null if its encoding is malformed. */
export function decodePercent(text: string): string | null {
  try {
    return decodeURIComponent(text);
  } catch {
    return null;
  }
}

function withoutQuery(path: string): string {
  return path.replace(/[?#].*$/s, "");
}
