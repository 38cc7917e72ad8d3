export type ApiName = "anthropic" | "openai" | "google";

/** Characters that every server reads alike. */
const plainPath = /^[\w./:@-]*$/;

const freeEndings: Readonly<Record<ApiName, RegExp>> = {
  anthropic: /\/messages\/count_tokens$/,
  openai: /\/responses\/input_tokens$/,
  google: /:countTokens$/,
};

/** Whether the path only counts tokens, which costs nothing. */
export function isFree(api: ApiName, path: string): boolean {
  const bare = withoutQuery(path);
  return plainPath.test(bare) && !bare.includes("..") && freeEndings[api].test(bare);
}

/** Chat Completions and the older Completions, whose streams report usage only on request. */
export function isCompletions(path: string): boolean {
  return /\/completions$/.test(withoutQuery(path));
}

export function isResponses(path: string): boolean {
  return /\/responses(\/|$)/.test(withoutQuery(path));
}

/** Whether the path computes embeddings, and so has no output tokens. */
export function isEmbedding(path: string): boolean {
  return /\/embeddings$|:(embedContent|batchEmbedContents)$/.test(withoutQuery(path));
}

/** Gemini's model, from a path such as `/v1beta/models/<model>:generateContent`. */
export function modelInPath(path: string): string | null {
  const [, encoded] = /\/(?:models|tunedModels)\/([^/:]{1,200}):/.exec(withoutQuery(path)) ?? [];
  if (encoded === undefined) return null;
  try {
    return decodeURIComponent(encoded);
  } catch {
    return encoded;
  }
}

function withoutQuery(path: string): string {
  return path.replace(/[?#].*$/s, "");
}
