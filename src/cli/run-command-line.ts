import { CommanderError, Option, Command as Parser } from "commander";
import { SwarmError } from "../errors/errors.ts";
import { exitCodes } from "../errors/exit-codes.ts";
import type { Project } from "../project/project.ts";
import type { FlagSettings } from "../settings/read-settings.ts";
import {
  type Command,
  type CommandArguments,
  type CommandContext,
  type CommandOptions,
  commandGroups,
} from "./flags/command.ts";
import { commands } from "./flags/commands.ts";
import { toCommanderOption, toUsageError } from "./flags/parse-flags.ts";
import { flagForSetting } from "./flags/setting-flags.ts";
import { splitCommandLine } from "./flags/split-command-line.ts";
import {
  createOutput,
  localeHasUnicode,
  OutputClosedError,
  type ProgressMode,
  progressMode,
} from "./render/output.ts";
import { version } from "./version.ts";

export interface CommandLineOptions {
  /** Opens the project for one command, whose flags override settings. */
  readonly openProject: (flags: FlagSettings) => Project;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly signal: AbortSignal;
  readonly onSecondSignal: CommandContext["onSecondSignal"];
}

/** The exit code that a shell reports for a program killed by SIGPIPE. */
const outputClosed = 141;

const progressModes = ["auto", "tty", "plain", "json", "quiet"] as const;

/** Parses the command line and runs its command. Resolves with the exit code. */
export async function runCommandLine(words: readonly string[], options: CommandLineOptions): Promise<number> {
  let exitCode: number = exitCodes.done;
  const { swarmWords, program } = splitCommandLine(words, commands);
  const run = async (command: Command, args: CommandArguments, given: CommandOptions): Promise<void> => {
    exitCode = await runCommand(command, args, given, { ...options, words, program });
  };
  const parser = makeParser(run);
  try {
    await parser.parseAsync(swarmWords.length > 0 ? swarmWords : ["status"], { from: "user" });
  } catch (error) {
    if (error instanceof CommanderError && error.exitCode === 0) return exitCodes.done;
    throw toUsageError(error);
  }
  return exitCode;
}

/**
 * `words` are all arguments that the user typed. `program` is the part after `--`, if it is the program that
 * acts as the agent.
 */
type Typed = Pick<CommandContext, "words" | "program">;

type Run = (command: Command, args: CommandArguments, options: CommandOptions) => Promise<void>;

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
    .exitOverride()
    .description("show help for a command")
    .helpGroup("OTHER:")
    .action((words: string[]) => helpFor(program, words).outputHelp());
  for (const group of commandGroups) {
    for (const command of commands.filter((candidate) => candidate.group === group))
      addCommand(program, command, run);
  }
  for (const command of commands.filter(({ group }) => group === undefined))
    addCommand(program, command, run);
  return program;
}

/**
 * Returns the parser of the command whose help to print. For example, `swarm help state add` prints the help
 * of `swarm state add`.
 */
function helpFor(program: Parser, words: readonly string[]): Parser {
  return words.reduce((parser, word) => {
    const child = parser.commands.find((command) => command.name() === word);
    if (!child) throw new SwarmError("USAGE", { message: `unknown command '${word}'` });
    return child;
  }, program);
}

function addCommand(parent: Parser, command: Command, run: Run): void {
  const [name = "", ...words] = command.name.split(" ");
  const parser = parent
    .command([name, ...words].join(" "), { hidden: command.hidden ?? false })
    .description(command.description)
    .exitOverride()
    .configureOutput({ writeErr: () => {} });
  if (command.forwardsArguments) {
    parser.passThroughOptions();
  }
  if (command.group) parser.helpGroup(`${command.group}:`);
  for (const flag of command.options ?? []) parser.addOption(toCommanderOption(flag));
  for (const child of command.commands ?? []) addCommand(parser, child, run);
  if (!command.load) {
    parser.action(() => {
      throw new SwarmError("USAGE", {
        message: `swarm ${name} needs a subcommand: one of ${command.commands?.map((child) => child.name.split(" ")[0]).join(", ")}`,
      });
    });
    parser.allowExcessArguments(true);
    return;
  }
  parser.option("--json", "print one JSON document");
  parser.addOption(new Option("--progress <mode>", "how to show progress").choices(progressModes));
  parser.action(async (...given: unknown[]) => {
    const options = given.at(-2) as CommandOptions;
    await run(command, given.slice(0, -2) as CommandArguments, options);
  });
}

async function runCommand(
  command: Command,
  args: CommandArguments,
  options: CommandOptions,
  { openProject, env, signal, onSecondSignal, words, program }: CommandLineOptions & Typed,
): Promise<number> {
  const wanted = wantedProgress(options, env);
  const output = createOutput({
    json: options["json"] === true,
    forAgent: Boolean(env["CLAUDECODE"]),
    // Drawing requires that stdout and stderr are terminals of known size. If either is redirected, progress
    // is plain lines.
    progress: progressMode(wanted, {
      env,
      columns: process.stdout.isTTY && process.stderr.isTTY ? process.stderr.columns : 0,
    }),
    stdout: process.stdout,
    stderr: process.stderr,
    stdin: process.stdin,
    unicode: localeHasUnicode(env),
    signal,
  });
  const handler = await command.load?.();
  if (!handler) return exitCodes.bug;
  try {
    const exitCode = await handler(
      {
        project: openProject({ values: command.settings?.(options, program) ?? {}, nameOf: flagName }),
        ...{ output, signal, onSecondSignal, words, program },
      },
      args,
      options,
    );
    if (!command.isQuiet) output.end("`swarm status` shows the state of the swarm");
    return exitCode;
  } catch (error) {
    if (error instanceof OutputClosedError) return outputClosed;
    throw error;
  }
}

function wantedProgress(options: CommandOptions, env: CommandLineOptions["env"]): "auto" | ProgressMode {
  const text = options["progress"] ?? (env["SWARM_PROGRESS"] || "auto");
  const mode = progressModes.find((known) => known === text);
  if (!mode)
    throw new SwarmError("INVALID_VALUE", {
      name: "SWARM_PROGRESS",
      value: String(text),
      expected: `one of ${progressModes.join(", ")}`,
    });
  return mode;
}

function flagName(pointer: string): string {
  return pointer.startsWith("/agentCommand") ? "the agent's program after --" : flagForSetting(pointer);
}
