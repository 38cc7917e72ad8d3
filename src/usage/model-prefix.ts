/**
 * Returns a model's full name, and all forms of the name without a provider's prefix, such as `anthropic/`,
 * `models/` or `us.anthropic.`.
 */
function modelNames(model: string): readonly string[] {
  const name = model.toLowerCase();
  const starts = [...name.matchAll(/[/:]|\banthropic\./g)].map((match) => match.index + match[0].length);
  return [name, ...starts.map((start) => name.slice(start))];
}

/**
 * Finds the list entry whose `model` is the longest prefix of the given model's name. Among equally long
 * prefixes, the first entry wins. Returns undefined if no entry is a prefix.
 */
export function findByLongestModelPrefix<Listed extends { readonly model: string }>(
  listed: readonly Listed[],
  model: string,
): Listed | undefined {
  const names = modelNames(model);
  let best: Listed | undefined;
  for (const each of listed) {
    if (best !== undefined && each.model.length <= best.model.length) continue;
    const beginning = each.model.toLowerCase();
    if (names.some((name) => name.startsWith(beginning))) best = each;
  }
  return best;
}
