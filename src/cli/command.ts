import type { SettingsFile } from "../domain/settings.ts";
import type { CommandOperations } from "./composition.ts";
import type { Output } from "./output.ts";

/** The headings in the help, in the order in which the help prints them. */
export const commandGroups = ["START", "WATCH", "REVIEW", "STEER", "UPKEEP", "SANDBOX", "OTHER"] as const;
export type CommandGroup = (typeof commandGroups)[number];

/** The context in which a command runs: its operations, its output and its arguments. */
export interface CommandContext {
  readonly swarm: CommandOperations;
  readonly output: Output;
  readonly signal: AbortSignal;
  /** Sets the action for the second Ctrl-C. Without an action, the second Ctrl-C ends the process at once. */
  readonly onSecondSignal: (act: () => void) => void;
  /** Called when the swarm of this command has begun. */
  readonly onBegun?: (swarmId: string) => void;
  /** The command-line arguments after `swarm`. */
  readonly words: readonly string[];
  /** The agent's program and its arguments, which the user typed after `--`; empty if there are none. */
  readonly program: readonly string[];
}

/** A command's positional arguments, in order. A variadic argument is an array. */
export type CommandArguments = readonly (string | readonly string[] | undefined)[];
export type CommandOptions = Readonly<Record<string, string | boolean | readonly string[] | undefined>>;

/**
 * A flag in commander's notation, and its help text. `many`: the user may repeat the flag. `old`: a former
 * name, hidden from the help.
 */
export type Flag = readonly [flags: string, description: string, how?: "many" | "old"];

/** The definition of a command. The help, the parser and the shell completion all derive from it. */
export interface Command {
  /** The command's name and arguments in commander's notation, for example `plan [files...]`. */
  readonly name: string;
  readonly description: string;
  readonly group?: CommandGroup;
  /** Whether the help omits the command. Former names of commands are hidden. */
  readonly hidden?: boolean;
  readonly options?: readonly Flag[];
  readonly commands?: readonly Command[];
  /**
   * Whether the command's output is for programs. swarm then adds no hint for agents about the next command.
   */
  readonly isQuiet?: boolean;
  /**
   * Whether only the first argument is swarm's. The other arguments are another program's, so swarm parses no
   * flags in them.
   */
  readonly forwardsArguments?: boolean;
  /**
   * Whether the command lets the user write the agent's program after `--`, together with the flag `--agent`.
   */
  readonly takesProgram?: boolean;
  /** Loads the command's handler. Called only when the command runs. */
  readonly load?: () => Promise<CommandHandler>;
  /** Returns the settings that the command's flags set. */
  readonly settings?: (options: CommandOptions, program: readonly string[]) => SettingsFile;
}

/**
 * Runs a command and resolves with the exit code for this process. For a program in a sandbox, that is the
 * program's own exit code.
 */
export type CommandHandler = (
  context: CommandContext,
  args: CommandArguments,
  options: CommandOptions,
) => Promise<number>;

/** Returns the argument at a position. commander has checked that a required argument is present. */
export function argumentAt(args: CommandArguments, index: number): string {
  return String(args[index] ?? "");
}

/** Returns a variadic argument as an array. */
export function variadicArgumentAt(args: CommandArguments, index: number): readonly string[] {
  const value = args[index];
  return value === undefined ? [] : typeof value === "string" ? [value] : value;
}
