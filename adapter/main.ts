import packageFile from "../package.json" with { type: "json" };
import { attachToSocket } from "../src/wire/attach-to-socket.ts";
import { sandboxPaths, supervisorSocketPath } from "./machine/sandbox-paths.ts";
import { probeSandbox } from "./probe-sandbox.ts";
import { runScriptedAgent } from "./scripted-agent.ts";
import { superviseTask } from "./supervise-task.ts";
import { type TailJournalOptions, tailJournal } from "./tail-journal.ts";

const [command, ...args] = process.argv.slice(2);
const say = (line: string): void => void process.stdout.write(`${line}\n`);
const reportProblem = (line: string): void => void process.stderr.write(`adapter: ${line}\n`);

/** The adapter's commands. The host runs them, and people who inspect a container can, too. */
const commands: Readonly<Record<string, () => Promise<number>>> = {
  async probe() {
    say(JSON.stringify(await probeSandbox()));
    return 0;
  },

  async supervise() {
    const stopped = new AbortController();
    // The agent's user cannot signal root's process, so a SIGINT comes from root and means the same as a SIGTERM from the
    // engine.
    for (const signal of ["SIGTERM", "SIGINT"]) process.on(signal, () => stopped.abort());
    return superviseTask({
      paths: sandboxPaths,
      // Each variable that exists has a value.
      env: { ...process.env } as Record<string, string>,
      version: packageFile.version,
      stopped: stopped.signal,
      complain: reportProblem,
    });
  },

  async attach() {
    const from = args[0] === "--from" ? Number(args[1]) : 0;
    if (!Number.isSafeInteger(from) || from < 0 || (args.length > 0 && args.length !== 2)) {
      reportProblem(
        "attach --from takes the number of the last message that the caller has received: 0, 1, 2 …",
      );
      return 2;
    }
    return attachToSocket(supervisorSocketPath(sandboxPaths), from, {
      input: process.stdin,
      output: process.stdout,
      reportProblem,
    });
  },

  async tail() {
    const options = parseTail(args);
    if (options === null) {
      reportProblem("tail accepts the flags --follow and --last <number of earlier lines>");
      return 2;
    }
    await tailJournal(sandboxPaths, options, say);
    return 0;
  },

  play: () => runScriptedAgent(process.stdin, say),
};

const work = commands[command ?? ""];
if (work) {
  const code = await work();
  // Exits even if a handle is still open, such as a stdin whose writer never closes it.
  process.exit(code);
} else {
  reportProblem(
    `unknown command ${JSON.stringify(command ?? "")}; known: ${Object.keys(commands).join(", ")}`,
  );
  process.exitCode = 2;
}

/**
 * Parses the arguments of the command `tail`; returns null if an argument is invalid. With `--follow`, the
 * command ends when its stdin ends.
 */
function parseTail(words: readonly string[]): TailJournalOptions | null {
  const isFollowed = words.includes("--follow");
  const [flag, count = "", ...more] = words.filter((word) => word !== "--follow");
  const last = flag === undefined ? null : Number(count);
  if ((flag !== undefined && (flag !== "--last" || !/^\d{1,6}$/.test(count))) || more.length > 0) return null;
  if (!isFollowed) return { last, until: null };
  const ended = new AbortController();
  for (const event of ["end", "close", "error"]) process.stdin.on(event, () => ended.abort());
  process.stdin.resume();
  return { last, until: ended.signal };
}
