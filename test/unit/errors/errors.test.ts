import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { PassThrough } from "node:stream";
import { fileURLToPath } from "node:url";
import { describe, expect, test } from "vitest";
import { typesOfSchemas } from "../../../scripts/generate.ts";
import { reportFailure } from "../../../src/cli/render/report-failure.ts";
import { errorCatalogue } from "../../../src/errors/error-catalogue.ts";
import { SwarmError } from "../../../src/errors/errors.ts";
import { exitCodes } from "../../../src/errors/exit-codes.ts";
import { findSchemaViolations } from "../../../src/schema/find-violations.ts";

const root = fileURLToPath(new URL("../../..", import.meta.url));

describe("the catalogue of errors", () => {
  const source = readdirSync(join(root, "src"), { recursive: true, encoding: "utf8" })
    .filter((file) => file.endsWith(".ts") && !file.endsWith("error-catalogue.ts"))
    .map((file) => readFileSync(join(root, "src", file), "utf8"))
    .join("\n");

  test.each(Object.keys(errorCatalogue))("%s has a producer", (code) => {
    // bin/swarm says NODE_TOO_OLD before there is a Node to run anything.
    const launcher = readFileSync(join(root, "bin/swarm"), "utf8");

    expect(`${source}\n${launcher}`).toMatch(new RegExp(`(?:SwarmError\\("|error )${code}\\b`));
  });

  test("every exit code of an error is one of the documented ones, and none is success or a bug", () => {
    const documented = Object.values(exitCodes).filter((code) => code > 1);

    expect(
      Object.values(errorCatalogue).filter(({ exitCode }) => !documented.some((code) => code === exitCode)),
    ).toEqual([]);
  });

  test("the same error is shown on every surface", async () => {
    const error = new SwarmError("LOCK_TIMEOUT", { file: "state.lock", holder: "pid 7", waitedMs: 10_000 });
    const [stdout, stderr] = [new PassThrough(), new PassThrough()];

    const exit = reportFailure(error, {
      json: true,
      stdout,
      stderr,
      reportFolder: "/nowhere",
      now: new Date(0),
    });

    const printed = String(stdout.read());
    expect(exit).toBe(6);
    expect(await findSchemaViolations("error", JSON.parse(printed))).toEqual([]);
    expect(JSON.parse(printed).error).toMatchObject({
      code: "LOCK_TIMEOUT",
      message: "state.lock is locked by pid 7; swarm stopped waiting after 10 s",
    });
    expect(String(stderr.read())).toBe(`error LOCK_TIMEOUT: ${error.message}\nhint: ${error.hint}\n`);
  });

  test("what was not foreseen is our bug: exit 1, a trace, and a report where it says", async () => {
    const { mkdtempSync, rmSync } = await import("node:fs");
    const folder = mkdtempSync("/tmp/swarm-");
    const stream = new PassThrough();

    const exit = reportFailure(new TypeError("oops"), {
      json: false,
      stdout: stream,
      stderr: stream,
      reportFolder: folder,
      now: new Date(0),
    });

    const [, file = ""] = /The bug report is in (.*)\./.exec(String(stream.read())) ?? [];
    expect(exit).toBe(1);
    expect(readFileSync(file, "utf8")).toContain("TypeError: oops");
    rmSync(folder, { recursive: true });
  });
});

describe("generated types", () => {
  test("are what the schemas say now", async () => {
    for (const [file, text] of await typesOfSchemas()) {
      expect(
        readFileSync(join(root, "src/contract", file), "utf8"),
        `${file} is stale: npm run generate`,
      ).toBe(text);
    }
  });
});
