/** A model's name, in full and without the prefixes of providers: `anthropic/…`, `models/…`, `us.anthropic.…`. */
function modelNames(model: string): readonly string[] {
  const name = model.toLowerCase();
  const starts = [...name.matchAll(/[/:]|\banthropic\./g)].map((match) => match.index + match[0].length);
  return [name, ...starts.map((start) => name.slice(start))];
}

/** The entry with the longest prefix that the model's name begins with; the first of equal ones. */
export function findLongestPrefix<Listed extends { readonly model: string }>(
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
