import { readFile, rm } from "node:fs/promises";
import { counts } from "../test/counts.ts";
import { buildProduct } from "./build.ts";
import { check } from "./check.ts";
import { chooseTests } from "./chosen-tests.ts";
import { engineProblem, missingTools } from "./prepare-machine.ts";
import { type Command, root, run, tool } from "./processes.ts";

const { full, only, title, names, isWhole, needsEngine } = chooseTests(process.argv.slice(2));
const ofEngine = ["beside", "agents", "alone"];

process.exitCode = await main();

/** Builds, checks and tests. Names the tests that cannot run here, which in CI is a failure. */
async function main(): Promise<number> {
  const started = performance.now();
  await buildProduct({ types: isWhole });
  // Runs beside the tests, which at first mostly wait for Debian packages.
  const checking = isWhole ? check() : [];

  const problem = needsEngine ? await engineProblem() : null;
  const wanted = only ? [only] : ["unit", "contract", "crash", ...ofEngine];
  const projects = wanted.filter((name) => problem === null || !ofEngine.includes(name));
  const notRun: readonly string[] = [
    ...Object.entries(counts(full)).flatMap(([name, count]) =>
      count === 0 ? `${name}: its count is 0` : [],
    ),
    ...(await missingTools()).map((name) => `the tests that use ${name}: it is not installed`),
    ...wanted.filter((name) => !projects.includes(name)).map((name) => `the ${name} tests: ${problem}`),
  ];
  const report = `${root}/node_modules/.test-report.json`;
  await rm(report, { force: true });
  const code = await run(vitestFor(projects, report), { SWARM_TEST_COUNTS: full ? "full" : "reduced" });

  const failedChecks = [...(await checking)];
  const { passed, failed, skipped } = await readReport(report);
  if (isWhole && full && problem === null && (await benchShortly()) !== 0)
    failedChecks.push("the short bench: a ratio is far from its goal, or a comparison is wrong");
  for (const name of failedChecks) console.log(`failed check: ${name}`);
  // Chosen tests that need no engine hardly ever use these tools; a missing one shows in the skipped tests.
  if (isWhole || only || needsEngine) for (const line of notRun) console.log(`not run: ${line}`);
  console.log(`${Math.round((performance.now() - started) / 1000)} s`);
  console.log(`${passed} passed, ${failed + failedChecks.length} failed, ${skipped} skipped`);
  const noneMatches = title !== undefined && passed + failed === 0;
  if (noneMatches) console.log(`no test of these files has "${title}" in its title`);
  const incomplete = isWhole && notRun.length > 0 && process.env["CI"] === "true";
  return code !== 0 || failedChecks.length > 0 || noneMatches || incomplete ? 1 : 0;
}

function vitestFor(projects: readonly string[], report: string): Command {
  return [
    ...([tool("vitest"), "run", "--config", "test/vitest.config.ts"] as const),
    ...projects.flatMap((name) => ["--project", name]),
    ...["--reporter", "default", "--reporter", "json", "--outputFile", report],
    ...(title === undefined ? [] : ["--testNamePattern", title]),
    ...names,
  ];
}

/** Finds wrong results and gross regressions. Compares only ratios within this run, since machines differ. */
function benchShortly(): Promise<number> {
  console.error("— the short bench");
  return run([process.execPath, `${root}/bench/run.ts`, "--short", "--built"]);
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
