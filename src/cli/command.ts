import type { SettingsFile } from "../domain/settings.ts";
import type { Composition } from "./composition.ts";
import type { Output } from "./output.ts";

/** The headings of the help, in its order. */
export const commandGroups = ["START", "WATCH", "REVIEW", "STEER", "UPKEEP", "SANDBOX", "OTHER"] as const;
export type CommandGroup = (typeof commandGroups)[number];

/** The input of a running command. */
export interface CommandContext {
  readonly swarm: Composition;
  readonly output: Output;
  readonly signal: AbortSignal;
  /** Sets an action for the second Ctrl-C, which otherwise ends the process at once. */
  readonly onSecondSignal: (act: () => void) => void;
  /** Called when a swarm has begun. */
  readonly onBegun?: (swarmId: string) => void;
  /** All words typed after `swarm`. */
  readonly words: readonly string[];
  /** The words of the agent's program, typed after `--`; empty without them. */
  readonly program: readonly string[];
}

/** A command's arguments in order, with a list for a variadic one. */
export type CommandArguments = readonly (string | readonly string[] | undefined)[];
export type CommandOptions = Readonly<Record<string, string | boolean | readonly string[] | undefined>>;

/** A flag in commander's notation, and its help. `many` may be repeated; `old` is a hidden former spelling. */
export type Flag = readonly [flags: string, description: string, how?: "many" | "old"];

/** A command as a value: the help, the parser and the completion are made from it. */
export interface Command {
  /** The name and arguments in commander's notation: `plan [files...]`. */
  readonly name: string;
  readonly description: string;
  readonly group?: CommandGroup;
  /** Whether the help omits the command, as for former spellings. */
  readonly hidden?: boolean;
  readonly options?: readonly Flag[];
  readonly commands?: readonly Command[];
  /** Whether a program reads the output: then agents get no hint about the next command. */
  readonly isQuiet?: boolean;
  /** Whether the words after the first argument belong to another program and hold no options of swarm. */
  readonly passesWordsOn?: boolean;
  /** Whether the words after `--` are the agent's program if `--agent` is given. */
  readonly takesProgram?: boolean;
  /** Loads the handler when the command runs. */
  readonly load?: () => Promise<CommandHandler>;
  /** The settings given by its flags. */
  readonly settings?: (options: CommandOptions, program: readonly string[]) => SettingsFile;
}

/** Resolves with the exit code of the process: swarm's own, or that of a program in a sandbox. */
export type CommandHandler = (
  context: CommandContext,
  args: CommandArguments,
  options: CommandOptions,
) => Promise<number>;

/** The argument at a position, whose presence commander has checked. */
export function argumentAt(args: CommandArguments, index: number): string {
  return String(args[index] ?? "");
}

/** A variadic argument. */
export function listAt(args: CommandArguments, index: number): readonly string[] {
  const value = args[index];
  return value === undefined ? [] : typeof value === "string" ? [value] : value;
}
