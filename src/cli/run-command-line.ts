import { CommanderError, Option, Command as Parser } from "commander";
import { usageError } from "../errors/errors.ts";
import { exitCodes } from "../errors/exit-codes.ts";
import type { EnvironmentVariables } from "../machine/user-folders.ts";
import type { Project } from "../project/project.ts";
import type { FlagSettings } from "../settings/read-settings.ts";
import type { Command, CommandArguments, CommandContext, CommandOptions } from "./flags/command.ts";
import { commands } from "./flags/commands.ts";
import { toCommanderOption, toUsageError } from "./flags/parse-flags.ts";
import { flagForSetting, settingsFromFlags } from "./flags/setting-flags.ts";
import { splitCommandLine } from "./flags/split-command-line.ts";
import { createOutput, OutputClosedError } from "./render/create-output.ts";
import { progressMode, progressModes } from "./render/progress-mode.ts";
import { version } from "./version.ts";

export interface CommandLineOptions {
  /** Opens the project for one command, whose flags override settings. */
  readonly openProject: (flags: FlagSettings) => Project;
  readonly env: EnvironmentVariables;
  readonly signal: AbortSignal;
  readonly onSecondSignal: CommandContext["onSecondSignal"];
}

/** The exit code that a shell reports for a program killed by SIGPIPE. */
const outputClosed = 141;

/** Parses the command line and runs its command. Resolves with the exit code. */
export async function runCommandLine(words: readonly string[], options: CommandLineOptions): Promise<number> {
  let exitCode: number = exitCodes.done;
  const { swarmWords, program } = splitCommandLine(words, commands);
  try {
    await makeParser(async (command, args, given) => {
      exitCode = await runCommand(command, args, given, { ...options, words, program });
    }).parseAsync(swarmWords.length > 0 ? swarmWords : ["status"], { from: "user" });
  } catch (error) {
    if (error instanceof CommanderError && error.exitCode === 0) return exitCodes.done;
    throw toUsageError(error);
  }
  return exitCode;
}

/** A command that has a handler of its own, not only subcommands. */
type RunnableCommand = Command & Required<Pick<Command, "load">>;

type Run = (command: RunnableCommand, args: CommandArguments, options: CommandOptions) => Promise<void>;

/** Makes the parser for swarm's whole command line. */
function makeParser(run: Run): Parser {
  const program = new Parser("swarm")
    .description(
      "Runs task files with coding agents. Each agent works in its own sealed container, and its result is a verified git branch.",
    )
    .version(version, "-V, --version", "print the version")
    .helpOption("-h, --help", "show help")
    .addHelpText(
      "after",
      "\nExit codes: 0 done, 2 usage, 3 environment, 6 locked, 9 conflict; docs/errors.md has all.",
    )
    .configureOutput({ writeErr: () => {} })
    .enablePositionalOptions()
    .exitOverride();
  program.helpCommand(false);
  program
    .command("help [command...]")
    .description("show help for a command")
    .helpGroup("OTHER:")
    .action((words: string[]) => helpFor(program, words).outputHelp());
  for (const command of commands) addCommand(program, command, run);
  return program;
}

/**
 * Returns the parser of the command whose help to print. For example, `swarm help state add` prints the help
 * of `swarm state add`.
 */
function helpFor(program: Parser, words: readonly string[]): Parser {
  return words.reduce((parser, word) => {
    const child = parser.commands.find((command) => command.name() === word);
    if (!child) throw usageError(`unknown command '${word}'`);
    return child;
  }, program);
}

function addCommand(parent: Parser, command: Command, run: Run): void {
  const { load } = command;
  const parser = parent
    .command(command.name, { hidden: command.hidden ?? false })
    .description(command.description)
    .passThroughOptions(command.forwardsArguments ?? false);
  if (command.group) parser.helpGroup(`${command.group}:`);
  for (const flag of command.options ?? []) parser.addOption(toCommanderOption(flag));
  for (const child of command.commands ?? []) addCommand(parser, child, run);
  if (!load) {
    parser.allowExcessArguments(true).action(() => {
      const children = parser.commands.map((child) => child.name());
      throw usageError(`swarm ${parser.name()} needs a subcommand: one of ${children.join(", ")}`);
    });
    return;
  }
  parser
    .option("--json", "print one JSON document")
    .addOption(new Option("--progress <mode>", "how to show progress").choices(progressModes))
    .action((...given: unknown[]) =>
      run({ ...command, load }, given.slice(0, -2) as CommandArguments, given.at(-2) as CommandOptions),
    );
}

async function runCommand(
  { load, isQuiet }: RunnableCommand,
  args: CommandArguments,
  options: CommandOptions,
  {
    openProject,
    env,
    signal,
    onSecondSignal,
    words,
    program,
  }: CommandLineOptions & Pick<CommandContext, "words" | "program">,
): Promise<number> {
  const output = createOutput({
    json: options["json"] === true,
    forAgent: Boolean(env["CLAUDECODE"]),
    // Drawing requires that stdout and stderr are terminals of known size. If either is redirected, progress
    // is plain lines.
    progress: progressMode(
      options["progress"],
      env,
      process.stdout.isTTY && process.stderr.isTTY ? process.stderr.columns : 0,
    ),
    stdout: process.stdout,
    stderr: process.stderr,
    stdin: process.stdin,
    // Without a UTF-8 locale, the terminal can show only ASCII.
    unicode: /utf-?8/i.test(env["LC_ALL"] || env["LC_CTYPE"] || env["LANG"] || ""),
    signal,
  });
  const handler = await load();
  try {
    const exitCode = await handler(
      {
        project: openProject({ values: settingsFromFlags(options, program), nameOf: flagForSetting }),
        output,
        signal,
        onSecondSignal,
        words,
        program,
      },
      args,
      options,
    );
    if (!isQuiet) output.end("`swarm status` shows the state of the swarm");
    return exitCode ?? exitCodes.done;
  } catch (error) {
    if (error instanceof OutputClosedError) return outputClosed;
    throw error;
  }
}
