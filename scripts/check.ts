import { parseArgs } from "node:util";
import { execa, execaSync } from "execa";
import { buildIfChanged } from "./build.ts";
import { generateValidators } from "./generate.ts";
import { type Command, root, run, tool } from "./processes.ts";

const vitest: Command = [tool("vitest"), "run", "--config", "test/vitest.config.ts"];

/** Checks types, lint and format, unused code, and the architecture; returns the names of the failed checks. */
export async function check(): Promise<string[]> {
  await generateValidators();
  const checks: readonly (readonly [name: string, command: Command])[] = [
    ["types (tsc)", [tool("tsc")]],
    ["lint and format (biome)", [tool("biome"), "check", "--error-on-warnings"]],
    ["unused files, exports and dependencies (knip)", [tool("knip")]],
    [
      "architecture (vitest)",
      [...vitest, "--project", "unit", "--reporter", "dot", "test/architecture.test.ts"],
    ],
  ];
  const ended = await Promise.all(
    checks.map(async ([name, [program, ...args]]) => {
      const { exitCode, all } = await execa(program, args, {
        cwd: root,
        reject: false,
        all: true,
        stdin: "ignore",
      });
      return { name, output: all, hasFailed: exitCode !== 0 };
    }),
  );
  for (const { name, output } of ended) console.error([`— ${name}`, ...(output ? [output] : [])].join("\n"));
  return ended.flatMap(({ name, hasFailed }) => (hasFailed ? [name] : []));
}

/** The tests of modules that changed since this branch left its upstream branch, or without one since the last commit. */
function testsOfChanges(): Command {
  return [...vitest, "--project", "unit", "--project", "contract", "--changed", changedSince()];
}

function changedSince(): string {
  const { stdout, exitCode } = execaSync("git", ["merge-base", "HEAD", "@{upstream}"], {
    cwd: root,
    reject: false,
  });
  return exitCode === 0 ? stdout : "HEAD";
}

if (import.meta.main) {
  const { values } = parseArgs({ options: { format: { type: "boolean" }, tests: { type: "boolean" } } });
  if (values.format) {
    await generateValidators();
    process.exitCode = await run([tool("biome"), "check", "--write"]);
  } else {
    const failed = await check();
    if (values.tests) {
      await buildIfChanged();
      if ((await run(testsOfChanges())) !== 0) failed.push("tests of changed modules");
    }
    for (const name of failed) console.error(`failed: ${name}`);
    process.exitCode = failed.length > 0 ? 1 : 0;
  }
}
