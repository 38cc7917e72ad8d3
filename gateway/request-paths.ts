export type ApiName = "anthropic" | "openai" | "google";

/** Nothing in it that two programs could read in two ways. */
const plainPath = /^[\w./:@-]*$/;

const freeEndings: Readonly<Record<ApiName, RegExp>> = {
  anthropic: /\/messages\/count_tokens$/,
  openai: /\/responses\/input_tokens$/,
  google: /:countTokens$/,
};

/** Whether the API only counts tokens there, which costs nothing. */
export function isFree(api: ApiName, path: string): boolean {
  const bare = withoutQuery(path);
  return plainPath.test(bare) && !bare.includes("..") && freeEndings[api].test(bare);
}

/** Chat Completions and the older Completions, whose streams tell their usage only when asked. */
export function isCompletions(path: string): boolean {
  return /\/completions$/.test(withoutQuery(path));
}

export function isResponses(path: string): boolean {
  return /\/responses(\/|$)/.test(withoutQuery(path));
}

/** Whether nothing is written there: numbers for a text are all that comes back. */
export function isEmbedding(path: string): boolean {
  return /\/embeddings$|:(embedContent|batchEmbedContents)$/.test(withoutQuery(path));
}

/** Gemini's model is in the path: `/v1beta/models/<model>:generateContent`. */
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
