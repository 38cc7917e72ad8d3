import { type ChildProcess, spawn } from "node:child_process";
import { addAbortListener } from "node:events";
import { readdir, readFile } from "node:fs/promises";
import type { Readable } from "node:stream";
import { listProcessIds, sendSignal } from "../../src/machine/processes.ts";
import { BoundedText } from "../../src/text/bounded-text.ts";
import { waitUntilDrained } from "../../src/wire/wait-until-drained.ts";
import { type KillerProcess, killAllProcessesOfUser, killSignalCount } from "./kill-all-processes.ts";
import { countOomKills } from "./oom-kills.ts";
import { type EndedProgram, type ProgramEnd, programEndForAbortReason } from "./program-end.ts";

/**
 * The user and group IDs of the sandbox's unprivileged Linux user. This user runs the agents, the checks and
 * git.
 */
const agentIds = { uid: 1000, gid: 1000 } as const;

/**
 * A shell script that runs a program with the lowest CPU priority. It also makes the program the first choice
 * of the OOM killer, so that the adapter survives.
 */
const withLowPriority =
  'echo 500 > /proc/self/oom_score_adj 2>/dev/null; cd "$1" || exit 126; shift; exec nice -n 19 "$@"';
const setprivPath = "/usr/bin/setpriv";
const userFlags: readonly string[] = [`--reuid=${agentIds.uid}`, `--regid=${agentIds.gid}`, "--clear-groups"];

export interface AgentUserCommand {
  readonly command: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  readonly folder: string;
}

/**
 * Starts a program as the agent's Linux user, in a new process group. Switches to this user before it enters
 * the work folder, because root may lack access to the agent's folders.
 */
export function startProgramAsAgentUser({ command, env, folder }: AgentUserCommand): ChildProcess & {
  readonly stdin: NonNullable<ChildProcess["stdin"]>;
  readonly stdout: Readable;
  readonly stderr: Readable;
} {
  return spawn("/bin/sh", ["-c", withLowPriority, "sh", folder, ...command], {
    ...agentIds,
    cwd: "/",
    env: { ...env },
    detached: true,
    stdio: "pipe",
  });
}

export interface RunAsAgentResult extends EndedProgram {
  readonly stdout: string;
  readonly stderr: string;
}

export interface RunAsAgentOptions extends AgentUserCommand {
  readonly input?: string | AsyncIterable<Uint8Array>;
  /**
   * The maximum number of characters to keep of stdout, and of stderr. If the output is longer, its middle is
   * left out.
   */
  readonly maxOutputLength?: number;
  /** Called with each chunk of the program's stdout. */
  readonly onOutput?: (bytes: Buffer) => void;
  /**
   * Aborts when the program must end: with `TimeLimitReached` at the program's time limit, or with another
   * reason when the adapter stops all work.
   */
  readonly deadline?: AbortSignal;
  /**
   * Whether to return as soon as the program exits, without waiting for processes that it started and that
   * still hold its output pipes open.
   */
  readonly returnsOnExit?: boolean;
}

/**
 * Runs a program as the agent's Linux user and waits until it ends. Kills the program's process group when
 * `deadline` or `signal` aborts.
 */
export async function runProgramAsAgentUser(
  run: RunAsAgentOptions,
  signal?: AbortSignal,
): Promise<RunAsAgentResult> {
  const { input, maxOutputLength = 1_000_000, onOutput, deadline, returnsOnExit = false } = run;
  // Not awaited before `feed`: the `error` and `exit` listeners below must exist before the program can fail.
  const killsBefore = countOomKills();
  const child = startProgramAsAgentUser(run);
  const exited = waitForProgramEnd(child, returnsOnExit);
  using until = killProcessGroupOnAbort(child, [deadline, signal]);
  const stdout = new BoundedText(maxOutputLength);
  const stderr = new BoundedText(maxOutputLength);
  child.stdout.on("data", (bytes: Buffer) => {
    stdout.add(bytes);
    onOutput?.(bytes);
  });
  child.stderr.on("data", (bytes: Buffer) => {
    stderr.add(bytes);
  });
  await feed(child, input);
  const end = until.judge(await exited);
  return {
    end,
    isOutOfMemory: (await countOomKills()) > (await killsBefore),
    stdout: stdout.finish().text,
    stderr: stderr.finish().text,
  };
}

/**
 * Kills a program's process group as soon as one of the given signals aborts. Disposal of the returned object
 * removes the listeners.
 */
export function killProcessGroupOnAbort(
  child: ChildProcess,
  signals: readonly (AbortSignal | undefined)[],
): Disposable & { judge(end: ProgramEnd): ProgramEnd } {
  const listeners = new DisposableStack();
  let endedBy: AbortSignal | null = null;
  for (const each of signals) {
    if (!each) continue;
    const end = (): void => {
      endedBy ??= each;
      killProcessGroup(child);
    };
    listeners.use(addAbortListener(each, end));
  }
  return {
    // A program that exited by itself just before the abort has given a valid answer.
    judge: (end) =>
      end.kind === "killed" && endedBy !== null ? programEndForAbortReason(endedBy.reason) : end,
    [Symbol.dispose]: () => listeners.dispose(),
  };
}

async function feed(child: ChildProcess, input: RunAsAgentOptions["input"]): Promise<void> {
  const { stdin } = child;
  if (!stdin) return;
  // Ignores write errors: a program may end before it has read its input.
  stdin.on("error", () => {});
  if (input === undefined || typeof input === "string") {
    stdin.end(input ?? "");
    return;
  }
  for await (const bytes of input) {
    if (stdin.destroyed) break;
    if (!stdin.write(bytes)) await waitUntilDrained(stdin);
  }
  stdin.end();
}

/**
 * The maximum time, in milliseconds, to wait for a program's output pipes to close after the program exits.
 * Other processes may hold the pipes open.
 */
const pipeGraceMs = 200;

/**
 * Resolves with the exit code or the signal with which a program ended. Waits for the program's output pipes
 * to close; if `returnsOnExit` is true, at most `pipeGraceMs` after its exit.
 */
export function waitForProgramEnd(child: ChildProcess, returnsOnExit = true): Promise<ProgramEnd> {
  return new Promise((resolve) => {
    const end = (code: number | null, signal: NodeJS.Signals | null): void =>
      resolve(code === null ? { kind: "killed", signal: signal ?? "SIGKILL" } : { kind: "exited", code });
    child.once("error", (error) => resolve({ kind: "not-begun", why: error.message }));
    child.once("close", end);
    if (!returnsOnExit) return;
    child.once("exit", (code, signal) => {
      // If the event loop is late, the timer fires before pending reads; two `setImmediate` let these reads go first.
      const timer = setTimeout(() => setImmediate(() => setImmediate(() => end(code, signal))), pipeGraceMs);
      child.once("close", () => clearTimeout(timer));
    });
  });
}

/** Kills a program and all processes of its process group. Does nothing if the program was not started. */
export function killProcessGroup({ pid }: ChildProcess): void {
  if (pid !== undefined) sendSignal(-pid, "SIGKILL");
}

/** A process of the agent's Linux user, with its CPU time, threads and memory as read from `/proc`. */
export interface AgentUserProcess {
  readonly pid: number;
  readonly rssBytes: number;
  /** The CPU time that the process has used since its start, in milliseconds. */
  readonly cpuMs: number;
  readonly threads: number;
}

const tickMs = 10;
const pageBytes = 4096;

/** Finds all processes of the agent's Linux user, except zombies. */
export async function findAgentProcesses(): Promise<AgentUserProcess[]> {
  const found = await Promise.all((await listProcessIds()).map((pid) => readProcess(pid).catch(() => null)));
  return found.filter((each) => each !== null);
}

async function readProcess(pid: string): Promise<AgentUserProcess | null> {
  const status = await readFile(`/proc/${pid}/status`, "utf8");
  if (!new RegExp(`^Uid:\\s+${agentIds.uid}\\s`, "m").test(status)) return null;
  // Counts a zombie that has other threads: a process whose main thread has ended looks like a zombie while the others
  // run.
  if (/^State:\s+[ZX]/m.test(status) && (await readdir(`/proc/${pid}/task`)).length < 2) return null;
  const stat = await readFile(`/proc/${pid}/stat`, "utf8").catch(() => "");
  // Splits after the last parenthesis: the process name in parentheses may itself contain spaces and parentheses.
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  return {
    pid: Number(pid),
    threads: Number(/^Threads:\s+(\d+)/m.exec(status)?.[1] ?? 1),
    cpuMs: (Number(fields[11] ?? 0) + Number(fields[12] ?? 0)) * tickMs,
    rssBytes: Math.max(0, Number(fields[21] ?? 0)) * pageBytes,
  };
}

/**
 * The time limit of the first program that kills the agent's processes, in milliseconds. If that program is
 * late, the adapter starts another with a longer limit.
 */
const killerMs = 500;
const killEverything = `for _ in ${"x ".repeat(killSignalCount)}; do kill -s KILL -- -1; done`;

/** Kills every process of the agent's Linux user. */
export function killAgentProcesses(): Promise<void> {
  return killAllProcessesOfUser({
    startKiller,
    findProcesses: findAgentProcesses,
    killProcess: (pid) => sendSignal(pid, "SIGKILL"),
    killerMs,
  });
}

/**
 * Starts a program that kills all processes of the agent's Linux user. The program runs as that user, so it
 * cannot kill other users' processes, but the agent's processes can stop it.
 */
function startKiller(): KillerProcess {
  // `setpriv` changes the user after the exec. With Node's `uid` option, the agent could stop the child before its exec,
  // which would block `spawn`.
  const killer = spawn(setprivPath, [...userFlags, "/bin/sh", "-c", killEverything], {
    cwd: "/",
    env: {},
    stdio: "ignore",
  });
  return { exited: waitForProgramEnd(killer), end: () => void killer.kill("SIGKILL") };
}

/** Sends SIGTERM to every process of the agent's Linux user. */
export async function terminateAgentProcesses(): Promise<void> {
  for (const { pid } of await findAgentProcesses()) sendSignal(pid, "SIGTERM");
}
