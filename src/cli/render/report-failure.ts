import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { SwarmError } from "../../errors/errors.ts";
import { type ExitCode, exitCodes } from "../../errors/exit-codes.ts";
import { sanitizeText } from "../../text/sanitize-text.ts";
import { toJson } from "./to-json.ts";

export interface ReportFailureOptions {
  readonly json: boolean;
  readonly stdout: NodeJS.WritableStream;
  readonly stderr: NodeJS.WritableStream;
  /** The path of the folder into which swarm writes reports of its own bugs. */
  readonly reportFolder: string;
  readonly now: Date;
}

/**
 * Prints an error and returns the exit code for it. Treats any error other than a `SwarmError` as a bug in
 * swarm, and writes a report about it.
 */
export function reportFailure(error: unknown, options: ReportFailureOptions): ExitCode {
  if (!(error instanceof SwarmError)) return reportBug(error, options);
  printExpectedError(error, options);
  return error.exitCode;
}

/**
 * Prints a `SwarmError`, which is an expected error, to stderr. With `--json`, also prints the error as JSON
 * to stdout.
 */
export function printExpectedError(
  error: SwarmError,
  { json, stdout, stderr }: Pick<ReportFailureOptions, "json" | "stdout" | "stderr">,
): void {
  if (json) stdout.write(`${toJson({ error: error.report() })}\n`);
  stderr.write(`error ${error.code}: ${sanitizeText(error.message, 2000)}\n`);
  if (error.hint) stderr.write(`hint: ${sanitizeText(error.hint, 2000)}\n`);
}

function reportBug(
  error: unknown,
  { json, stdout, stderr, reportFolder, now }: ReportFailureOptions,
): ExitCode {
  const trace = error instanceof Error ? (error.stack ?? error.message) : String(error);
  const file = join(reportFolder, `bug-${now.toISOString().replace(/[:.]/g, "-")}.txt`);
  const isSaved = save(file, `${now.toISOString()} node ${process.version}\n${trace}\n`);
  const message = error instanceof Error ? error.message : String(error);
  if (json) stdout.write(`${JSON.stringify({ error: { code: "BUG", message } }, null, 2)}\n`);
  stderr.write(
    `error BUG: ${sanitizeText(message)}\n${trace
      .split("\n")
      .map((line) => sanitizeText(line))
      .join("\n")}\n`,
  );
  stderr.write(
    `This is a bug in swarm, not a mistake of yours.${isSaved ? ` The bug report is in ${file}.` : ""}\n`,
  );
  return exitCodes.bug;
}

function save(file: string, text: string): boolean {
  try {
    mkdirSync(join(file, ".."), { recursive: true });
    writeFileSync(file, text, { mode: 0o600 });
    return true;
  } catch {
    // A full disk must not hide the error that the report is about.
    return false;
  }
}
