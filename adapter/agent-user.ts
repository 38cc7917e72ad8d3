import { type ChildProcess, spawn } from "node:child_process";
import { readdir, readFile } from "node:fs/promises";
import type { Readable } from "node:stream";
import { BoundedText } from "../src/domain/bounded-text.ts";
import { blows, endProcesses, type Killer } from "./end-processes.ts";
import { countMemoryKills } from "./out-of-memory.ts";
import { type EndedProgram, endedFor, type ProgramEnd } from "./program-end.ts";

/** The one user of this sandbox that runs what is not ours: agents, checks and git. */
const agentIds = { uid: 1000, gid: 1000 } as const;

/** Ended first when memory runs out, and last when everything computes: the supervisor must see it happen. */
const asVictim =
  'echo 500 > /proc/self/oom_score_adj 2>/dev/null; cd "$1" || exit 126; shift; exec nice -n 19 "$@"';
const changeUser = "/usr/bin/setpriv";
const asAgent: readonly string[] = [`--reuid=${agentIds.uid}`, `--regid=${agentIds.gid}`, "--clear-groups"];

export interface UserCommand {
  readonly command: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  readonly folder: string;
}

/** Starts a program as the agent's user, in a process group of its own. The user changes before the folder does: root may not look into the agent's. */
export function startAsAgent({ command, env, folder }: UserCommand): ChildProcess & {
  readonly stdin: NonNullable<ChildProcess["stdin"]>;
  readonly stdout: Readable;
  readonly stderr: Readable;
} {
  return spawn("/bin/sh", ["-c", asVictim, "sh", folder, ...command], {
    ...agentIds,
    cwd: "/",
    env: { ...env },
    detached: true,
    stdio: "pipe",
  });
}

export interface UserResult extends EndedProgram {
  readonly stdout: string;
  readonly stderr: string;
}

export interface UserRun extends UserCommand {
  readonly input?: string | AsyncIterable<Uint8Array>;
  /** The most of each output that is kept: its beginning and its end. */
  readonly keep?: number;
  /** Told of what it writes on stdout. */
  readonly onOutput?: (bytes: Buffer) => void;
  /** Aborted when its time is over, with `TimeOver`, or when what it is run for is to stop. */
  readonly deadline?: AbortSignal;
  /** It may leave others behind that hold its output: they are not waited for. */
  readonly leavesOthers?: boolean;
}

/** Runs a program as the agent's user to its end, or to its deadline or the signal: then its whole group is ended. */
export async function runAsAgent(run: UserRun, signal?: AbortSignal): Promise<UserResult> {
  const { input, keep = 1_000_000, onOutput, deadline, leavesOthers = false } = run;
  // Not waited for yet: an input that fails is listened to from the start.
  const killsBefore = countMemoryKills();
  const child = startAsAgent(run);
  const exited = leavesOthers ? exitOf(child) : closeOf(child);
  using until = endUpon(child, [deadline, signal]);
  const stdout = new BoundedText(keep);
  const stderr = new BoundedText(keep);
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
    isOutOfMemory: (await countMemoryKills()) > (await killsBefore),
    stdout: stdout.finish().text,
    stderr: stderr.finish().text,
  };
}

/** Ends a program's group as soon as one of the signals is aborted, until this is disposed. */
export function endUpon(
  child: ChildProcess,
  signals: readonly (AbortSignal | undefined)[],
): Disposable & { judge(end: ProgramEnd): ProgramEnd } {
  using stack = new DisposableStack();
  let endedBy: AbortSignal | null = null;
  for (const each of signals) {
    if (!each) continue;
    const end = (): void => {
      endedBy ??= each;
      endGroup(child.pid);
    };
    if (each.aborted) end();
    else each.addEventListener("abort", end, { once: true });
    stack.defer(() => each.removeEventListener("abort", end));
  }
  const listening = stack.move();
  return {
    // A program that came to its own end just before has answered.
    judge: (end) => (end.kind === "killed" && endedBy !== null ? endedFor(endedBy.reason) : end),
    [Symbol.dispose]: () => listening.dispose(),
  };
}

async function feed(child: ChildProcess, input: UserRun["input"]): Promise<void> {
  const { stdin } = child;
  if (!stdin) return;
  // A program need not read what it is given.
  stdin.on("error", () => {});
  if (input === undefined || typeof input === "string") {
    stdin.end(input ?? "");
    return;
  }
  for await (const bytes of input) {
    if (stdin.destroyed) break;
    if (!stdin.write(bytes)) await drained(stdin);
  }
  stdin.end();
}

function drained(stream: NodeJS.EventEmitter): Promise<void> {
  return new Promise((resolve) => {
    const done = () => {
      stream.off("drain", done);
      stream.off("close", done);
      resolve();
    };
    stream.once("drain", done);
    stream.once("close", done);
  });
}

/** So long may others hold the pipes of a program that has ended. */
const lastWordsMs = 200;

/** How it ended, once it has. Its pipes may outlive it in a child of its own, which is no reason to wait. */
export function exitOf(child: ChildProcess): Promise<ProgramEnd> {
  return new Promise((resolve) => {
    child.once("error", (error) => resolve(notBegun(error)));
    child.once("exit", (code, signal) => {
      const done = () => {
        clearTimeout(timer);
        resolve(endFrom(code, signal));
      };
      // A timer that comes late comes before what waits to be read: that has a turn of its own.
      const timer = setTimeout(() => setImmediate(() => setImmediate(done)), lastWordsMs);
      child.once("close", done);
    });
  });
}

/** How it ended, once it has and all that it wrote was read. */
function closeOf(child: ChildProcess): Promise<ProgramEnd> {
  return new Promise((resolve) => {
    child.once("error", (error) => resolve(notBegun(error)));
    child.once("close", (code: number | null, signal: NodeJS.Signals | null) =>
      resolve(endFrom(code, signal)),
    );
  });
}

function endFrom(code: number | null, signal: NodeJS.Signals | null): ProgramEnd {
  return code === null ? { kind: "killed", signal: signal ?? "SIGKILL" } : { kind: "exited", code };
}

function notBegun(error: Error): ProgramEnd {
  return { kind: "not-begun", why: error.message };
}

/** Ends a process group; one that has gone already is fine. */
export function endGroup(pid: number | undefined, signal: NodeJS.Signals = "SIGKILL"): void {
  if (pid === undefined) return;
  try {
    process.kill(-pid, signal);
  } catch (error) {
    if (!(error instanceof Error && "code" in error && error.code === "ESRCH")) throw error;
  }
}

/** A process of the agent's user, as the kernel describes it. */
export interface UserProcess {
  readonly pid: number;
  readonly rssBytes: number;
  /** Since its start. */
  readonly cpuMs: number;
  readonly threads: number;
}

const tickMs = 10;
const pageBytes = 4096;

/** Every process of the agent's user; those that are over and only wait to be counted are none. */
export async function findAgentProcesses(): Promise<UserProcess[]> {
  const pids = (await readdir("/proc")).filter((name) => /^\d+$/.test(name));
  const found = await Promise.all(pids.map((pid) => lookAt(pid).catch(() => null)));
  return found.filter((each) => each !== null);
}

async function lookAt(pid: string): Promise<UserProcess | null> {
  const status = await readFile(`/proc/${pid}/status`, "utf8");
  if (!new RegExp(`^Uid:\\s+${agentIds.uid}\\s`, "m").test(status)) return null;
  // A program whose first thread has ended looks dead while the others go on.
  if (/^State:\s+[ZX]/m.test(status) && (await readdir(`/proc/${pid}/task`)).length < 2) return null;
  const stat = await readFile(`/proc/${pid}/stat`, "utf8").catch(() => "");
  // The name in brackets may hold anything.
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  return {
    pid: Number(pid),
    threads: Number(/^Threads:\s+(\d+)/m.exec(status)?.[1] ?? 1),
    cpuMs: (Number(fields[11] ?? 0) + Number(fields[12] ?? 0)) * tickMs,
    rssBytes: Math.max(0, Number(fields[21] ?? 0)) * pageBytes,
  };
}

/** So long a killer may take on a busy machine. */
const killerMs = 500;
const endEverything = `for _ in ${"x ".repeat(blows)}; do kill -s KILL -- -1; done`;

/** Ends everything that the agent's user runs. */
export function endAgentProcesses(): Promise<void> {
  return endProcesses({ startKiller, findProcesses: findAgentProcesses, endProcess, killerMs });
}

/** It has the rights of those that it is to end, so that it can hit no other, and they could stop it. */
function startKiller(): Killer {
  // It changes its user by itself: were it stopped before its program runs, whoever started it would wait for that.
  const killer = spawn(changeUser, [...asAgent, "/bin/sh", "-c", endEverything], {
    cwd: "/",
    env: {},
    stdio: "ignore",
  });
  return { exited: exitOf(killer), end: () => void killer.kill("SIGKILL") };
}

/** Tells everything that the agent's user runs that its time is over. */
export async function askAgentProcesses(): Promise<void> {
  for (const { pid } of await findAgentProcesses()) endProcess(pid, "SIGTERM");
}

/** Ends a process; one that has gone already is fine. */
function endProcess(pid: number, signal: NodeJS.Signals = "SIGKILL"): void {
  try {
    process.kill(pid, signal);
  } catch (error) {
    if (!(error instanceof Error && "code" in error && error.code === "ESRCH")) throw error;
  }
}
