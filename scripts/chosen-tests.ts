import { readdirSync } from "node:fs";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { root } from "./processes.ts";

/** The tests that the caller of `npm test` chose. */
export interface ChosenTests {
  /** Whether the costly tests run with full counts. */
  readonly full: boolean;
  /** The one vitest project to run, if the caller named one. */
  readonly only: string | undefined;
  /** The pattern of the titles to run, if the caller gave one. */
  readonly title: string | undefined;
  /** Parts of the paths of the test files to run; none for all files. */
  readonly names: readonly string[];
  /** Whether this is the whole suite, and not a part of it. */
  readonly isWhole: boolean;
  /** Whether one of the tests needs a private engine. With Sysbox, the tests use the engine that it is installed for. */
  readonly needsEngine: boolean;
}

/** Reads the arguments of `npm test`. Throws an error with a message for the caller if they are wrong. */
export function chooseTests(words: readonly string[]): ChosenTests {
  const { values, positionals: names } = parseArgs({
    args: [...words],
    allowPositionals: true,
    options: { full: { type: "boolean" }, only: { type: "string" }, title: { type: "string", short: "t" } },
  });
  const files = readdirSync(join(root, "test"), { recursive: true, encoding: "utf8" })
    .filter((file) => file.endsWith(".test.ts"))
    .map((file) => join("test", file));
  const missing = names.find((name) => !files.some((file) => file.includes(name)));
  if (missing !== undefined) throw new Error(`no test file has "${missing}" in its path`);
  const chosen = files.filter((file) => names.length === 0 || names.some((name) => file.includes(name)));
  const { full = false, only, title } = values;
  return {
    ...{ full, only, title, names },
    isWhole: names.length === 0 && only === undefined && title === undefined,
    needsEngine: only !== "sysbox" && chosen.some((file) => /^test\/(?:engine|agents)\//.test(file)),
  };
}
