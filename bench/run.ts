import { mkdirSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { buildProduct } from "../scripts/build.ts";
import { httpGetFromSocket } from "../src/engine/docker/http-get-from-socket.ts";
import { type ContainerEngine, labels } from "../src/engine/engine.ts";
import type { Bench, BenchContext, Growth } from "./bench.ts";
import { openBenchEngine } from "./bench-engine.ts";
import { benches } from "./benches.ts";
import { compare, type Patience, type Result } from "./compare.ts";
import { idleGate } from "./idle-gate.ts";
import { dockerFor } from "./peers.ts";
import { type Measured, writeReport } from "./report.ts";

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    json: { type: "boolean" },
    short: { type: "boolean" },
    built: { type: "boolean" },
    help: { type: "boolean" },
  },
});
const unknown = positionals.filter((name) => !Object.hasOwn(benches, name));
if (values.help || unknown.length > 0) {
  const names = Object.entries(benches).map(([name, { title }]) => `  ${name.padEnd(12)} ${title}`);
  console.error(
    [
      ...(unknown.length > 0 ? [`There is no bench ${unknown.join(", ")}.`] : []),
      "npm run bench [-- NAME…] [--short] [--json]",
      ...names,
    ].join("\n"),
  );
  process.exit(unknown.length > 0 ? 2 : 0);
}

const isShort = values.short === true;
const patience: Patience = isShort ? { fewestRounds: 3, ms: 2_000 } : { fewestRounds: 5, ms: 5_000 };
const chosen = positionals.length > 0 ? positionals : Object.keys(benches);

if (!values.built) await buildProduct({ types: false });
const gate = await idleGate();
console.error(gate);
const folder = await mkdtemp(join(tmpdir(), "swarm-bench-"));
try {
  await using undo = new AsyncDisposableStack();
  const opened = await openBenchEngine(undo);
  if ("why" in opened) console.error(`Without an engine (${opened.why}): what needs one is left out.`);
  const engine = "why" in opened ? null : opened.engine;
  const docker = engine === null ? null : await dockerFor((await engine.info()).endpoint);
  const all: Measured[] = [];
  const started = performance.now();
  for (const name of chosen) {
    const bench = benches[name];
    if (bench) all.push(await measure(name, bench, { engine, docker }));
  }
  const results = all.flatMap((measured) => measured.results);
  if (values.json) console.log(JSON.stringify(results, null, 2));
  console.error(`${results.length} comparisons in ${Math.round((performance.now() - started) / 1_000)} s.`);
  if (positionals.length === 0 && !isShort) await writeReport(all, gate);
  const isBad = isShort ? isGross : ({ met }: Result) => !met;
  const bad = results.filter(isBad);
  if (isShort) for (const result of bad) console.error(`GROSSLY ${line(result)}`);
  process.exitCode = bad.length > 0 ? 1 : 0;
} finally {
  await rm(folder, { recursive: true, force: true });
}

async function measure(
  name: string,
  bench: Bench,
  found: Pick<BenchContext, "engine" | "docker">,
): Promise<Measured> {
  const undo = new AsyncDisposableStack();
  try {
    return await carryOut(name, bench, { ...found, undo });
  } finally {
    await undo.disposeAsync();
    if (found.engine !== null) await refuseLeftovers(name, found.engine);
  }
}

async function carryOut(
  name: string,
  { title, prepare }: Bench,
  { engine, docker, undo }: Pick<BenchContext, "engine" | "docker" | "undo">,
): Promise<Measured> {
  const started = performance.now();
  const own = join(folder, name);
  mkdirSync(own);
  const absent: string[] = [];
  const say = (line: string): void => {
    if (!values.json) console.log(line);
  };
  const prepared = await prepare({
    ...{ engine, docker, undo, isShort, folder: own },
    env: { ...process.env, HOME: own, SWARM_STATE_DIR: join(own, "state"), NO_COLOR: "1" },
    absent: (peer, why) => {
      absent.push(`${peer}: ${why}`);
      say(`absent ${peer}: ${why}`);
    },
  });
  const results: Result[] = [];
  for (const comparison of prepared.comparisons) {
    const result = await compare(comparison, patience);
    results.push(result);
    say(line(result));
  }
  const growth: readonly Growth[] = isShort ? [] : ((await prepared.growth?.()) ?? []);
  for (const { name: what, unit, series } of growth)
    for (const { name: whose, points } of series)
      say(
        `       ${what}, ${whose}: ${points.map(([n, value]) => `${n}: ${value.toPrecision(3)}`).join(", ")} ${unit}`,
      );
  const seconds = Math.round((performance.now() - started) / 1_000);
  if (results.length > 0) say(`       ${name} took ${seconds} s`);
  return { name, title, results, growth, absent, seconds };
}

/** Whatever a bench made is its own to remove; the next one would measure it. */
async function refuseLeftovers(name: string, engine: ContainerEngine): Promise<void> {
  const filters = encodeURIComponent(JSON.stringify({ label: ["org.aimi.test=bench"] }));
  const socket = (await engine.info()).endpoint.replace("unix://", "");
  const rows = await httpGetFromSocket(socket, `/containers/json?all=1&filters=${filters}`, {
    timeoutMs: 10_000,
  });
  if (!Array.isArray(rows)) throw new Error(`Nobody says what ${name} left behind`);
  const alive = (rows as readonly { readonly State: string }[]).filter(({ State }) => State !== "removing");
  const { images } = await engine.open();
  const made = (await images.list({ [labels.role]: "project-image" })).filter(({ tags }) =>
    tags.some((tag) => tag.startsWith("aimi-sandbox-bench:")),
  );
  if (alive.length + made.length > 0)
    throw new Error(`${name} left ${alive.length} containers and ${made.length} images behind`);
}

/** Four times as far off as a goal: what a few rounds on a busy machine can show. */
function isGross({ met, ratio, goal }: Result): boolean {
  const [sign = "", wanted = ""] = goal.split(" ");
  return !met && (sign === "≤" ? ratio > 4 * Number(wanted) : ratio < Number(wanted) / 4);
}

function line({ name, against, ratio, low, high, goal, met, note }: Result): string {
  const shown = `${ratio.toFixed(2)}× ${against} [${low.toFixed(2)}, ${high.toFixed(2)}]`;
  return `${met ? "met   " : "MISSED"} ${name}: ${shown}, goal ${goal} (${note})`;
}
