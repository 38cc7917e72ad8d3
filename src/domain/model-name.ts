/** Returns a model's full name, and its name without providers' prefixes: `anthropic/…`, `models/…`, `us.anthropic.…`. */
function modelNames(model: string): readonly string[] {
  const name = model.toLowerCase();
  const starts = [...name.matchAll(/[/:]|\banthropic\./g)].map((match) => match.index + match[0].length);
  return [name, ...starts.map((start) => name.slice(start))];
}

/**
 * Finds the entry in a list whose `model` is the longest prefix of the model's name; of equally long ones,
 * the first. Returns undefined if no entry is a prefix.
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
