import { CommanderError, Option, Command as Parser } from "commander";
import { SwarmError } from "../../errors/errors.ts";
import type { CommandOptions, Flag } from "./command.ts";

/**
 * Parses command-line arguments that may contain only the given flags. Throws USAGE for any other argument.
 */
export function parseFlags(flags: readonly Flag[], words: readonly string[]): CommandOptions {
  const parser = new Parser().exitOverride().configureOutput({ writeErr: () => {} });
  parser.helpOption(false).allowExcessArguments(false);
  for (const flag of flags) parser.addOption(toCommanderOption(flag));
  try {
    return parser.parse([...words], { from: "user" }).opts();
  } catch (error) {
    throw toUsageError(error);
  }
}

/** Converts an error of the command-line parser into a USAGE error. Returns any other error unchanged. */
export function toUsageError(error: unknown): unknown {
  if (!(error instanceof CommanderError)) return error;
  const message = error.message.replace(/^error: /, "").replace(/\n/g, " ");
  return new SwarmError("USAGE", { message }, error);
}

export function toCommanderOption([flags, description, how]: Flag): Option {
  const option = new Option(flags, description).hideHelp(how === "old");
  const gather = (value: string, before: unknown): string[] => [
    ...(Array.isArray(before) ? before : []),
    value,
  ];
  return how === "many" ? option.argParser(gather) : option;
}
