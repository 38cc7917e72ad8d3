import type { SettingsFile } from "../domain/settings.ts";
import type { Composition } from "./composition.ts";
import type { Output } from "./output.ts";

/** The headings of the help, in its order. */
export const commandGroups = ["START", "WATCH", "REVIEW", "STEER", "UPKEEP", "SANDBOX", "OTHER"] as const;
export type CommandGroup = (typeof commandGroups)[number];

/** What a command is given when it runs. */
export interface CommandContext {
  readonly swarm: Composition;
  readonly output: Output;
  readonly signal: AbortSignal;
  /** What a second Ctrl-C does instead of ending the process at once. */
  readonly onSecondSignal: (act: () => void) => void;
  /** Wants to know when a swarm has begun. */
  readonly onBegun?: (swarmId: string) => void;
  /** All that was typed after `swarm`. */
  readonly words: readonly string[];
  /** The agent's program, as far as it was typed. */
  readonly program: readonly string[];
}

/** The words after a command's name: arguments in order, a list for a variadic one. */
export type CommandArguments = readonly (string | readonly string[] | undefined)[];
export type CommandOptions = Readonly<Record<string, string | boolean | readonly string[] | undefined>>;

/** A flag as commander writes it, and what it means. `many` may be given several times; `old` is another spelling, and not shown. */
export type Flag = readonly [flags: string, description: string, how?: "many" | "old"];

/** A command as a value: the help, the parser and the completion are made from it. */
export interface Command {
  /** As commander writes it: `plan [files...]`. */
  readonly name: string;
  readonly description: string;
  readonly group?: CommandGroup;
  /** Old spellings work and are not shown. */
  readonly hidden?: boolean;
  readonly options?: readonly Flag[];
  readonly commands?: readonly Command[];
  /** What it prints is for a program: an agent is not told what to type next. */
  readonly isQuiet?: boolean;
  /** After its first argument nothing is an option of ours: the words are another program's. */
  readonly passesWordsOn?: boolean;
  /** After `--agent <kind>`, what follows `--` is the agent's program. */
  readonly takesProgram?: boolean;
  /** Loaded only when the command runs. */
  readonly load?: () => Promise<CommandHandler>;
  /** The settings that its flags carry. */
  readonly settings?: (options: CommandOptions, program: readonly string[]) => SettingsFile;
}

/** Resolves with what the process exits with: one of ours, or that of a program in a sandbox. */
export type CommandHandler = (
  context: CommandContext,
  args: CommandArguments,
  options: CommandOptions,
) => Promise<number>;

/** The single argument at a position, which commander has checked to be there. */
export function argumentAt(args: CommandArguments, index: number): string {
  return String(args[index] ?? "");
}

/** A variadic argument. */
export function listAt(args: CommandArguments, index: number): readonly string[] {
  const value = args[index];
  return value === undefined ? [] : typeof value === "string" ? [value] : value;
}
