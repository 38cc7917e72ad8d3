import type { ExitCode } from "../domain/exit-codes.ts";
import type { SettingsFile } from "../domain/settings.ts";
import type { Composition } from "./composition.ts";
import type { Output } from "./output.ts";

/** The headings of the help, in its order. */
export const commandGroups = ["START", "WATCH", "STEER", "UPKEEP", "OTHER"] as const;
export type CommandGroup = (typeof commandGroups)[number];

/** What a command is given when it runs. */
export interface CommandContext {
  readonly swarm: Composition;
  readonly output: Output;
  readonly signal: AbortSignal;
}

/** The words after a command's name: arguments in order, a list for a variadic one. */
export type CommandArguments = readonly (string | readonly string[] | undefined)[];
export type CommandOptions = Readonly<Record<string, string | boolean | undefined>>;

/** A command as a value: the help, the parser and the completion are made from it. */
export interface Command {
  /** As commander writes it: `plan [files...]`. */
  readonly name: string;
  readonly description: string;
  readonly group?: CommandGroup;
  /** Old spellings work and are not shown. */
  readonly hidden?: boolean;
  readonly options?: readonly (readonly [flags: string, description: string])[];
  readonly commands?: readonly Command[];
  /** Loaded only when the command runs. */
  readonly load?: () => Promise<CommandHandler>;
  /** The settings that its flags carry. */
  readonly settings?: (options: CommandOptions) => SettingsFile;
}

export type CommandHandler = (
  context: CommandContext,
  args: CommandArguments,
  options: CommandOptions,
) => Promise<ExitCode>;

/** The single argument at a position, which commander has checked to be there. */
export function argumentAt(args: CommandArguments, index: number): string {
  return String(args[index] ?? "");
}

/** A variadic argument. */
export function listAt(args: CommandArguments, index: number): readonly string[] {
  const value = args[index];
  return value === undefined ? [] : typeof value === "string" ? [value] : value;
}
