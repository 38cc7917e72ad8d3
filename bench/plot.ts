import type { Growth } from "./bench.ts";
import type { Result } from "./compare.ts";

/** Readable on light and dark pages, and without colour: what misses its goal is hatched and named. */
const style = `<style>
text { font: 12px sans-serif; fill: #57606a } .title { font-weight: bold } .bar { fill: #2da44e } .missed { fill: url(#hatch); stroke: #cf222e }
.line { stroke: #57606a; fill: none } .goal { stroke: #0969da; stroke-width: 2; stroke-dasharray: 4 3 } .curve { stroke: #2da44e; stroke-width: 2; fill: none }
</style><defs><pattern id="hatch" width="6" height="6" patternUnits="userSpaceOnUse" patternTransform="rotate(45)"><rect width="3" height="6" fill="#cf222e"/></pattern></defs>`;

const [labelWidth, plotWidth, rowHeight, top] = [470, 330, 26, 34];

/** A bar for each ratio on a logarithmic axis, with its interval and its goal. */
export function ratioPlot(title: string, results: readonly Result[]): string {
  const goals = results.flatMap(({ goal }) => Number(/[\d.]+/.exec(goal)?.[0] ?? Number.NaN) || []);
  const values = results.flatMap(({ ratio, low, high }) => [ratio, low, Math.min(high, ratio * 10)]);
  const scale = logScale([1, ...goals, ...values], plotWidth);
  const height = top + results.length * rowHeight + 20;
  const rows = results.map(({ name, against, ratio, low, high, goal, met }, index) => {
    const y = top + index * rowHeight;
    const [from, to] = [Math.min(scale(1), scale(ratio)), Math.max(scale(1), scale(ratio))];
    const wanted = Number(/[\d.]+/.exec(goal)?.[0]);
    const text = `${name} / ${against}`;
    return [
      `<text x="${labelWidth - 8}" y="${y + 13}" text-anchor="end">${escaped(text.length > 68 ? `${text.slice(0, 67)}…` : text)}</text>`,
      `<rect class="${met ? "bar" : "missed"}" x="${labelWidth + from}" y="${y + 3}" width="${Math.max(1, to - from)}" height="14"/>`,
      `<path class="line" d="M${labelWidth + scale(low)} ${y + 10}H${labelWidth + scale(Math.min(high, ratio * 10))}"/>`,
      wanted > 0
        ? `<path class="goal" d="M${labelWidth + scale(wanted)} ${y}V${y + 20}"><title>wanted ${escaped(goal)}</title></path>`
        : "",
      `<text x="${labelWidth + plotWidth + 8}" y="${y + 13}">${ratio.toPrecision(3)}× ${met ? "" : "missed"}</text>`,
    ].join("");
  });
  const one = `<path class="line" d="M${labelWidth + scale(1)} ${top - 6}V${height - 16}"/><text x="${labelWidth + scale(1)}" y="${height - 4}" text-anchor="middle">1</text>`;
  return page({ title, width: labelWidth + plotWidth + 110, height }, `${key()}${rows.join("")}${one}`);
}

function key(): string {
  return `<text x="8" y="18">ratio, logarithmic; dashed: what was wanted; thin: the interval</text>`;
}

/** How a figure grows with N, both axes logarithmic. */
export function growthPlot({ name, unit, series }: Growth): string {
  const [width, height, left, bottom] = [560, 240, 60, 36];
  const points = series.flatMap((one) => one.points);
  const x = logScale(
    points.map(([n]) => n),
    width - left - 90,
  );
  const y = logScale(
    points.map(([, value]) => value),
    height - bottom - 40,
  );
  const place = ([n, value]: readonly [number, number]): string =>
    `${left + x(n)} ${height - bottom - y(value)}`;
  const curves = series.map(({ name: whose, points: own }) => {
    const last = own.at(-1) ?? [1, 1];
    const [endX = "0", endY = "0"] = place(last).split(" ");
    return [
      `<path class="curve" d="M${own.map(place).join("L")}"/>`,
      ...own.map((point) => {
        const [cx, cy] = place(point).split(" ");
        return `<circle class="bar" cx="${cx}" cy="${cy}" r="3"><title>${point[0]}: ${point[1].toPrecision(3)} ${escaped(unit)}</title></circle>`;
      }),
      `<text x="${Number(endX) + 8}" y="${Number(endY) + 4}">${escaped(whose)} ${last[1].toPrecision(3)}</text>`,
    ].join("");
  });
  const counts = [...new Set(points.map(([n]) => n))];
  const marks = counts.map(
    (n) => `<text x="${left + x(n)}" y="${height - 16}" text-anchor="middle">${n}</text>`,
  );
  const axes = `<path class="line" d="M${left} 30V${height - bottom}H${width - 80}"/>`;
  const heading = `<text class="title" x="8" y="18">${escaped(`${name}, ${unit}`)}</text>`;
  return page({ title: name, width, height }, `${heading}${axes}${marks.join("")}${curves.join("")}`);
}

function logScale(values: readonly number[], length: number): (value: number) => number {
  const known = values.filter((value) => value > 0 && Number.isFinite(value)).map(Math.log);
  const [low, high] = [Math.min(...known), Math.max(...known)];
  const span = Math.max(high - low, 1e-9);
  return (value) =>
    Math.round(((Math.log(Math.max(value, Number.MIN_VALUE)) - low) / span) * length * 10) / 10;
}

function page(
  { title, width, height }: { readonly title: string; readonly width: number; readonly height: number },
  content: string,
): string {
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" role="img"><title>${escaped(title)}</title>${style}${content}</svg>\n`;
}

function escaped(text: string): string {
  return text
    .replaceAll("&", "&amp;")
    .replaceAll("<", "&lt;")
    .replaceAll(">", "&gt;")
    .replaceAll('"', "&quot;");
}
