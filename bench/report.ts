import { mkdir, rm, writeFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import type { Growth } from "./bench.ts";
import type { Result } from "./compare.ts";
import { growthPlot, ratioPlot } from "./plot.ts";

/** What one bench has found. */
export interface Measured {
  readonly name: string;
  readonly title: string;
  readonly results: readonly Result[];
  readonly growth: readonly Growth[];
  /** What people would use instead, and was not there. */
  readonly absent: readonly string[];
  /** How long it took. */
  readonly seconds: number;
}

const here = fileURLToPath(new URL(".", import.meta.url));

/** `bench/REPORT.md`, with a picture for each bench. */
export async function writeReport(all: readonly Measured[], gate: string): Promise<void> {
  await rm(`${here}plots`, { recursive: true, force: true });
  await mkdir(`${here}plots`);
  for (const { name, title, results, growth } of all) {
    if (results.length > 0) await writeFile(`${here}plots/${name}.svg`, ratioPlot(title, results));
    for (const [index, grown] of growth.entries())
      await writeFile(`${here}plots/${name}-growth-${index + 1}.svg`, growthPlot(grown));
  }
  await writeFile(`${here}REPORT.md`, reportText(all, gate));
}

function reportText(all: readonly Measured[], gate: string): string {
  const results = all.flatMap((measured) => measured.results);
  const missed = results.filter(({ met }) => !met);
  return `# What was measured

Written by \`npm run bench\`. Each line is a ratio of two ways of doing the same thing, measured in turns in the same run, with the interval in which its median
lies (95 %). Below 1 is less time; where a goal says ≥, a rate is compared, and above 1 is more. ${gate}

${results.length} comparisons, ${results.length - missed.length} as wanted${missed.length > 0 ? `, ${missed.length} not:` : "."}
${missed.map(({ name, against, ratio, goal, note }) => `\n- **${name}** is ${shown(ratio)} × ${against}, wanted ${goal} (${note})`).join("")}

${all.map(section).join("\n")}`;
}

function section({ name, title, results, growth, absent, seconds }: Measured): string {
  const rows = results.map(
    ({ name: what, against, ratio, low, high, goal, met, note }) =>
      `| ${what} | ${against} | ${shown(ratio)} | ${shown(low)} – ${shown(high)} | ${goal} | ${met ? "yes" : "**no**"} | ${note} |`,
  );
  return `## ${title}

\`npm run bench -- ${name}\` (${seconds} s)
${
  rows.length === 0
    ? ""
    : `
| what | against | ratio | interval | wanted | met | |
|---|---|---|---|---|---|---|
${rows.join("\n")}

![${title}](plots/${name}.svg)
`
}${growth.map((grown, index) => growthSection(name, grown, index)).join("")}${absent.length > 0 ? `\nAbsent: ${absent.join("; ")}.\n` : ""}`;
}

function growthSection(name: string, { name: what, unit, series }: Growth, index: number): string {
  const counts = series[0]?.points.map(([n]) => n) ?? [];
  const rows = series.map(
    ({ name: whose, points }) => `| ${whose} | ${points.map(([, value]) => shown(value)).join(" | ")} |`,
  );
  return `
${what}, ${unit}:

| N | ${counts.join(" | ")} |
|---|${counts.map(() => "---|").join("")}
${rows.join("\n")}

![${what}](plots/${name}-growth-${index + 1}.svg)
`;
}

function shown(value: number): string {
  return value >= 100 ? Math.round(value).toString() : value.toPrecision(3).replace(/\.0+$/, "");
}
