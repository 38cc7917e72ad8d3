import { buildProduct } from "./build.ts";
import { generateValidators } from "./generate.ts";
import { run, tool } from "./processes.ts";

/** Types, lint and format, unused code, and the tests that take milliseconds. Returns the names of what failed. */
export async function check({ unitTests }: { unitTests: boolean }): Promise<string[]> {
  await generateValidators();
  const checks: [name: string, program: string, args: string[]][] = [
    ["types (tsc)", tool("tsc"), []],
    ["lint and format (biome)", tool("biome"), ["check", "--error-on-warnings"]],
    ["unused files, exports and dependencies (knip)", tool("knip"), []],
  ];
  if (unitTests)
    checks.push([
      "unit tests and architecture (vitest)",
      tool("vitest"),
      ["run", "--config", "test/vitest.config.ts", "--project", "unit", "--reporter", "dot"],
    ]);
  const failed: string[] = [];
  for (const [name, program, args] of checks) {
    console.error(`— ${name}`);
    if ((await run(program, args)) !== 0) failed.push(name);
  }
  return failed;
}

if (import.meta.main) {
  if (process.argv.includes("--format")) {
    await generateValidators();
    process.exitCode = await run(tool("biome"), ["check", "--write"]);
  } else {
    await buildProduct({ types: false });
    const failed = await check({ unitTests: true });
    for (const name of failed) console.error(`failed: ${name}`);
    process.exitCode = failed.length > 0 ? 1 : 0;
  }
}
