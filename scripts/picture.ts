import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { createInterface } from "node:readline";
import { buildIfChanged } from "./build.ts";
import { root } from "./processes.ts";
import { makeSample } from "./sample-repository.ts";

/** A line that a program printed, with its time since the program's start. */
interface PrintedLine {
  readonly atMs: number;
  readonly text: string;
}

/** A command as it is typed, with everything that it printed. */
interface Recording {
  readonly typed: string;
  readonly lines: readonly PrintedLine[];
}

const picture = join(root, "docs", "pictures", "start.svg");
/** Longer pauses of the recording are shortened to this. */
const maxPauseMs = 900;
/** The rows of the drawn terminal; earlier lines scroll out. */
const rows = 26;
const lineHeight = 20;
const margin = 16;
const titleBarHeight = 36;
/** The advance of one character of the monospaced fonts below, at 14 px. */
const characterWidth = 8.43;

process.exitCode = await main();

/** Records a run of the sample repository and renders it to the picture of the README. */
async function main(): Promise<number> {
  await buildIfChanged();
  const folder = await mkdtemp(join(tmpdir(), "swarm-picture-"));
  try {
    const sample = join(folder, "sample");
    await makeSample(sample);
    const recordings = [
      await record(sample, "swarm start --all"),
      await record(sample, "git log --graph --oneline --branches"),
    ];
    await mkdir(dirname(picture), { recursive: true });
    await writeFile(picture, render(recordings));
    console.log(`wrote ${picture}`);
    return 0;
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** Runs a command with the built program, without a terminal, and keeps the time of each line of both streams. */
async function record(folder: string, typed: string): Promise<Recording> {
  console.log(`$ ${typed}`);
  const [program = "", ...args] = typed.split(" ");
  const path = `${join(root, "bin")}:${process.env["PATH"] ?? ""}`;
  const started = performance.now();
  const child = spawn(program, args, {
    cwd: folder,
    env: { ...process.env, PATH: path, NO_COLOR: "1", SWARM_PROGRESS: "plain" },
    stdio: ["ignore", "pipe", "pipe"],
  });
  const lines: PrintedLine[] = [];
  for (const input of [child.stdout, child.stderr])
    createInterface({ input }).on("line", (text) => {
      console.log(text);
      lines.push({ atMs: performance.now() - started, text });
    });
  const [code] = await once(child, "close");
  if (code !== 0) throw new Error(`${typed} ended with ${code}`);
  return { typed, lines };
}

/** An SVG with one text element a line. CSS shows each at its time and scrolls; without animations the end of the run is shown. */
function render(recordings: readonly Recording[]): string {
  const shown = timed(recordings);
  const columns = Math.max(...shown.map(({ text }) => text.length));
  const width = Math.ceil(columns * characterWidth + 2 * margin);
  const height = titleBarHeight + rows * lineHeight + margin;
  const texts = shown.map(({ atMs, text, isTyped }, index) => {
    const y = titleBarHeight + (index + 1) * lineHeight - 4;
    const kind = isTyped ? "typed" : "printed";
    const delay = (atMs / 1000).toFixed(2);
    return `    <text x="${margin}" y="${y}" class="${kind}" style="animation-delay:${delay}s">${escaped(text)}</text>`;
  });
  const { keyframes, durationMs, scrolled } = scrolling(shown.map(({ atMs }) => atMs));
  return `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}" xml:space="preserve" role="img" aria-label="A recorded run of swarm start --all">
  <!-- Recorded by \`npm run picture\`; do not edit. -->
  <style>
    text { font: 14px ui-monospace, "DejaVu Sans Mono", Menlo, Consolas, monospace; animation: show 1ms both; }
    .typed { fill: #ffffff; font-weight: bold; }
    .printed { fill: #c9d1d9; }
    .scroll { animation: scroll ${(durationMs / 1000).toFixed(2)}s step-end both; }
    @keyframes show { from { opacity: 0; } to { opacity: 1; } }
    @keyframes scroll { ${keyframes} }
    @media (prefers-reduced-motion: reduce) { text, .scroll { animation: none; } }
  </style>
  <clipPath id="terminal"><rect y="${titleBarHeight}" width="${width}" height="${rows * lineHeight + 4}"/></clipPath>
  <rect width="${width}" height="${height}" rx="8" fill="#161b22"/>
  <circle cx="20" cy="18" r="6" fill="#ff5f56"/><circle cx="40" cy="18" r="6" fill="#ffbd2e"/><circle cx="60" cy="18" r="6" fill="#27c93f"/>
  <g clip-path="url(#terminal)"><g class="scroll" transform="translate(0 -${scrolled})">
${texts.join("\n")}
  </g></g>
</svg>
`;
}

/** The keyframes that scroll to each line that appears below the last row; `scrolled` is the sum in pixels. */
function scrolling(times: readonly number[]): { keyframes: string; durationMs: number; scrolled: number } {
  const durationMs = (times.at(-1) ?? 0) + 1;
  const scrolledLines = Math.max(times.length - rows, 0);
  // Lines that appear at one moment are one step: the last of them counts.
  const linesByPercent = new Map([
    ["0", 0],
    ...times
      .slice(rows)
      .map((atMs, index): [string, number] => [((atMs / durationMs) * 100).toFixed(2), index + 1]),
    ["100", scrolledLines],
  ]);
  const keyframes = [...linesByPercent].map(
    ([percent, lines]) => `${percent}% { transform: translateY(-${lines * lineHeight}px); }`,
  );
  return { keyframes: keyframes.join(" "), durationMs, scrolled: scrolledLines * lineHeight };
}

/** The lines of all recordings on one time axis, with long pauses shortened. */
function timed(recordings: readonly Recording[]): { atMs: number; text: string; isTyped: boolean }[] {
  let now = 0;
  return recordings.flatMap(({ typed, lines }) => {
    let previousMs = 0;
    now += maxPauseMs;
    const command = { atMs: now, text: `$ ${typed}`, isTyped: true };
    const printed = lines.map(({ atMs, text }) => {
      now += Math.min(atMs - previousMs, maxPauseMs);
      previousMs = atMs;
      return { atMs: now, text, isTyped: false };
    });
    return [command, ...printed];
  });
}

function escaped(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
}
