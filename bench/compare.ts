/** Two ways of doing the same thing, measured in turns in one run. */
export interface Comparison {
  readonly name: string;
  /** What a ratio is taken against. */
  readonly against: string;
  /** `≤ 1.2` for a cost, `≥ 5` for a gain; null where no goal was set. */
  readonly goal: { readonly sign: "≤" | "≥"; readonly ratio: number } | null;
  readonly note: string;
  /** What bounds it, where the goal is not met. */
  readonly bound?: string;
  /** One sample of each: milliseconds for a cost, a rate for a gain. The order changes from round to round. */
  readonly ours: () => Promise<number>;
  readonly theirs: () => Promise<number>;
  /** Of a costly one. */
  readonly fewestRounds?: number;
}

/** One line of the report. */
export interface Result {
  readonly name: string;
  readonly against: string;
  readonly ratio: number;
  readonly low: number;
  readonly high: number;
  readonly goal: string;
  readonly met: boolean;
  readonly note: string;
}

/** How long one comparison may take, and from which ratio on a short run complains. */
export interface Patience {
  readonly fewestRounds: number;
  readonly ms: number;
}

const maxRounds = 60;
const narrowEnough = 0.06;

/** Measures until the ratio's interval is narrow, or patience ends; the interval then says so. */
export async function compare(
  { name, against, goal, note, bound, ours, theirs, fewestRounds }: Comparison,
  patience: Patience,
): Promise<Result> {
  const began = performance.now();
  const fewest = Math.min(fewestRounds ?? patience.fewestRounds, patience.fewestRounds);
  if (fewest > 3) {
    await ours();
    await theirs();
  }
  const ratios: number[] = [];
  let interval = { low: 0, high: Number.POSITIVE_INFINITY };
  for (let round = 0; round < maxRounds; round += 1) {
    const oursFirst = round % 2 === 0;
    const first = oursFirst ? await ours() : await theirs();
    const second = oursFirst ? await theirs() : await ours();
    ratios.push(oursFirst ? first / second : second / first);
    if (ratios.length < fewest) continue;
    interval = intervalOf(ratios);
    if ((interval.high - interval.low) / median(ratios) < narrowEnough) break;
    if (performance.now() - began > patience.ms) break;
  }
  const ratio = median(ratios);
  const met = goal === null || (goal.sign === "≤" ? ratio <= goal.ratio : ratio >= goal.ratio);
  return {
    ...{ name, against, ratio, met },
    ...interval,
    goal: goal ? `${goal.sign} ${goal.ratio}` : "none",
    note: [
      note,
      `${ratios.length} rounds`,
      ...(met || bound === undefined ? [] : [`bounded by ${bound}`]),
    ].join("; "),
  };
}

/** The middle 95 % of the medians of samples drawn again from the ratios. */
function intervalOf(ratios: readonly number[]): { low: number; high: number } {
  const medians = Array.from({ length: 1_000 }, () =>
    median(ratios.map(() => ratios[Math.floor(Math.random() * ratios.length)] ?? 1)),
  ).sort((a, b) => a - b);
  return { low: medians[25] ?? 0, high: medians[974] ?? 0 };
}

export function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  const middle = Math.floor(sorted.length / 2);
  return sorted.length % 2 === 1
    ? (sorted[middle] ?? 0)
    : ((sorted[middle - 1] ?? 0) + (sorted[middle] ?? 0)) / 2;
}

export function percentile(values: readonly number[], part: number): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * part))] ?? 0;
}
