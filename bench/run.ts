import { execFileSync } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { loadavg, tmpdir } from "node:os";
import { join } from "node:path";
import { buildProduct } from "../scripts/build.ts";
import { adapterSpeed } from "./adapter-speed.ts";
import { commandStart, program } from "./command-start.ts";
import { compare, type Result } from "./compare.ts";
import { gatewaySpeed } from "./gateway-speed.ts";
import { hookStart } from "./hook-start.ts";
import { imageDecision } from "./image-decision.ts";
import { sandboxStart } from "./sandbox-start.ts";
import { stateUpdates } from "./state-updates.ts";
import { statusBesideEngine } from "./status-beside-engine.ts";

const json = process.argv.includes("--json");

await buildProduct({ types: false });
console.error(
  `Load before: ${loadavg()[0]?.toFixed(2)}. Ratios hold for one run on one machine; a busy one widens the intervals.`,
);
const folder = await mkdtemp(join(tmpdir(), "swarm-bench-"));
try {
  const env = { ...process.env, HOME: folder, SWARM_STATE_DIR: join(folder, "state"), NO_COLOR: "1" };
  makeRepository(join(folder, "repository"), env);
  execFileSync("git", ["init", "--quiet", join(folder, "plain")]);
  const results: Result[] = [];
  await using images = await imageDecision(folder);
  await using status = await statusBesideEngine(join(folder, "beside-engine"), env, images.engine);
  await using sandboxes = await sandboxStart(images.engine);
  await using gateway = await gatewaySpeed(join(folder, "road"));
  for (const comparison of [
    ...commandStart(join(folder, "repository"), env),
    ...hookStart({ repository: join(folder, "repository"), withoutSwarm: join(folder, "plain") }, env),
    ...status.comparisons,
    ...stateUpdates(folder),
    ...images.comparisons,
    ...sandboxes.comparisons,
    ...adapterSpeed(images.engine),
    ...gateway.comparisons,
  ]) {
    const result = await compare(comparison);
    results.push(result);
    if (!json) console.log(line(result));
  }
  if (json) console.log(JSON.stringify(results, null, 2));
  process.exitCode = results.every(({ met }) => met) ? 0 : 1;
} finally {
  await rm(folder, { recursive: true, force: true });
}

function line({ name, against, ratio, low, high, goal, met, note }: Result): string {
  return `${met ? "met   " : "MISSED"} ${name}: ${ratio.toFixed(2)}× ${against} [${low.toFixed(2)}, ${high.toFixed(2)}], goal ${goal} (${note})`;
}

/** A repository with a swarm of sixteen, made as people make one. */
function makeRepository(repository: string, env: NodeJS.ProcessEnv): void {
  execFileSync("git", ["init", "--quiet", repository]);
  const swarm = (...words: string[]): void => void execFileSync(program, words, { cwd: repository, env });
  swarm("state", "init");
  for (let index = 1; index <= 16; index += 1)
    swarm("state", "add", "-", `aimi-bench-${index}`, `${index}-tasks.json`, `feat/${index}`);
}
