import { readFile, rm } from "node:fs/promises";
import { counts } from "../test/counts.ts";
import { buildProduct } from "./build.ts";
import { check } from "./check.ts";
import { prepareEngine, prepareTools } from "./prepare-engine.ts";
import { root, run, tool } from "./processes.ts";

const full = process.argv.includes("--full");
const only = process.argv.includes("--only") ? process.argv[process.argv.indexOf("--only") + 1] : undefined;

process.exitCode = await main();

/** Checks, builds and runs every test; what cannot run here is named, and in CI that is a failure. */
async function main(): Promise<number> {
  console.error(
    `swarm's tests with ${full ? "full" : "reduced"} counts. This builds dist/ and, on Debian and Ubuntu as root, installs Docker Engine's packages if they are missing.`,
  );
  const started = performance.now();
  await buildProduct({ types: true });
  const failedChecks: string[] = only ? [] : [...(await check({ unitTests: false }))];

  const notRun: string[] = Object.entries(counts(full)).flatMap(([name, count]) =>
    count === 0 ? [`${name}: its count is 0`] : [],
  );
  for (const name of only === "sysbox" ? [] : await prepareTools())
    notRun.push(`the tests that use ${name}: it is not installed`);
  const projects = only ? [only] : ["unit", "contract", "crash", "engine", "adapter", "swarm", "agents"];
  // Whoever has Sysbox has an engine of their own.
  const engineProblem = only === "sysbox" ? null : await prepareEngine();
  if (engineProblem) {
    for (const name of ["engine", "adapter", "swarm", "agents"]) {
      const index = projects.indexOf(name);
      if (index >= 0) {
        projects.splice(index, 1);
        notRun.push(`the ${name} tests: ${engineProblem}`);
      }
    }
  }

  if (projects.length === 0) {
    for (const line of notRun) console.log(`not run: ${line}`);
    return 1;
  }
  const report = `${root}/node_modules/.test-report.json`;
  await rm(report, { force: true });
  const flags = projects.flatMap((name) => ["--project", name]);
  const code = await run(
    tool("vitest"),
    [
      "run",
      "--config",
      "test/vitest.config.ts",
      ...flags,
      "--reporter",
      "default",
      "--reporter",
      "json",
      "--outputFile",
      report,
    ],
    { SWARM_TEST_COUNTS: full ? "full" : "reduced" },
  );

  const { passed, failed, skipped } = await readReport(report);
  const isSlower = only === undefined && !engineProblem && (await benchShortly()) !== 0;
  if (isSlower) failedChecks.push("the short bench: a ratio is far from its goal, or a comparison is wrong");
  for (const name of failedChecks) console.log(`failed check: ${name}`);
  for (const line of notRun) console.log(`not run: ${line}`);
  console.log(`${Math.round((performance.now() - started) / 1000)} s`);
  console.log(`${passed} passed, ${failed + failedChecks.length} failed, ${skipped} skipped`);
  const incomplete = notRun.length > 0 && process.env["CI"] === "true";
  return code !== 0 || failedChecks.length > 0 || incomplete ? 1 : 0;
}

/** Correctness and gross regressions: ratios of this run only, since no machine is like another. */
function benchShortly(): Promise<number> {
  console.error("— the short bench");
  return run(process.execPath, [`${root}/bench/run.ts`, "--short", "--built"], {});
}

async function readReport(file: string): Promise<{ passed: number; failed: number; skipped: number }> {
  try {
    const { numPassedTests, numFailedTests, numPendingTests, numTodoTests } = JSON.parse(
      await readFile(file, "utf8"),
    );
    return { passed: numPassedTests, failed: numFailedTests, skipped: numPendingTests + numTodoTests };
  } catch {
    // vitest ended before it could report; its own message says why.
    return { passed: 0, failed: 1, skipped: 0 };
  }
}
