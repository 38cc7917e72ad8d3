import type { Project } from "../../project/project.ts";
import type { Output } from "../render/output.ts";

/** A heading of a group of commands in swarm's help. */
export type CommandGroup = "START" | "WATCH" | "REVIEW" | "STEER" | "UPKEEP" | "SANDBOX" | "OTHER";

/** What a command receives when it runs: the project that it works on, its output and its arguments. */
export interface CommandContext {
  readonly project: Project;
  readonly output: Output;
  readonly signal: AbortSignal;
  /** Sets what the second Ctrl-C does. By default, it ends the process at once. */
  readonly onSecondSignal: (act: () => void) => void;
  /** Called when the swarm that this command runs has begun. */
  readonly onBegun?: (swarmId: string) => void;
  /** All command-line arguments that the user typed after `swarm`. */
  readonly words: readonly string[];
  /**
   * The program that acts as the agent, with its arguments, as the user typed them after `--`. Empty if the
   * user typed none.
   */
  readonly program: readonly string[];
}

/**
 * A command's positional arguments, in order. An argument that may occur several times, such as `[files...]`,
 * is an array.
 */
export type CommandArguments = readonly (string | readonly string[] | undefined)[];
export type CommandOptions = Readonly<Record<string, string | boolean | readonly string[] | undefined>>;

/**
 * A flag in the notation of the library commander, and its help text. `many` means that the user may repeat
 * the flag; `old` marks a former name, which the help omits.
 */
export type Flag = readonly [flags: string, description: string, how?: "many" | "old"];

/** The definition of a command, from which swarm derives its help, its parser and its shell completion. */
export interface Command {
  /**
   * The command's name and arguments in the notation of the library commander, for example `plan [files...]`.
   */
  readonly name: string;
  readonly description: string;
  readonly group?: CommandGroup;
  /** Whether the help omits the command, because its name is a former one. */
  readonly hidden?: boolean;
  readonly options?: readonly Flag[];
  readonly commands?: readonly Command[];
  /**
   * Whether programs read the command's output. If so, swarm does not add its hint for agents about the next
   * command.
   */
  readonly isQuiet?: boolean;
  /**
   * Whether all arguments after the first belong to another program, so that swarm parses no flags in them.
   */
  readonly forwardsArguments?: boolean;
  /** Loads the module with the command's handler. Called only when the command runs. */
  readonly load?: () => Promise<CommandHandler>;
}

/**
 * Runs a command and resolves with swarm's exit code; with nothing for `exitCodes.done`. If the command runs a
 * program in a sandbox, this is the program's exit code.
 */
export type CommandHandler = (
  context: CommandContext,
  args: CommandArguments,
  options: CommandOptions,
) => Promise<number | undefined>;

/**
 * Returns a function that imports a command's module and returns the handler that the module exports under a
 * name.
 */
export function lazy<Name extends string>(
  load: () => Promise<Readonly<Record<Name, CommandHandler>>>,
  name: Name,
): () => Promise<CommandHandler> {
  return async () => (await load())[name];
}

/**
 * Returns the positional argument at an index. commander has already refused a command line without a
 * required argument.
 */
export function argumentAt(args: CommandArguments, index: number): string {
  return String(args[index] ?? "");
}

/** Returns the value of a flag that takes a text; null if the user did not give the flag. */
export function textOption(options: CommandOptions, name: string): string | null {
  const value = options[name];
  return typeof value === "string" ? value : null;
}

/** Returns the positional argument at an index as an array, because the user may give it several times. */
export function variadicArgumentAt(args: CommandArguments, index: number): readonly string[] {
  const value = args[index];
  return value === undefined ? [] : typeof value === "string" ? [value] : value;
}
