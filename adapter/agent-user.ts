import { type ChildProcess, spawn } from "node:child_process";
import { readdir, readFile } from "node:fs/promises";
import type { Readable } from "node:stream";
import { setTimeout as delay } from "node:timers/promises";
import { BoundedText } from "../src/domain/bounded-text.ts";

/** The one user of this sandbox that runs what is not ours: agents, checks and git. */
const agentIds = { uid: 1000, gid: 1000 } as const;

/** Ended first when memory runs out: the supervisor must see it happen. */
const asVictim = 'echo 500 > /proc/self/oom_score_adj 2>/dev/null; cd "$1" || exit 126; shift; exec "$@"';
const changeUser = "/usr/bin/setpriv";
const asAgent: readonly string[] = [`--reuid=${agentIds.uid}`, `--regid=${agentIds.gid}`, "--clear-groups"];
/** Not every kernel does it in one step: blow upon blow leaves no time to multiply. */
const blows = 10;
const endEverything = `for _ in ${"x ".repeat(blows)}; do kill -s KILL -- -1; done`;
const lookAgainMs = 20;
const unkillableMs = 60_000;
/** So long the killer may take: it is over at once, unless somebody holds it. */
const killerMs = 500;
const lastResortMs = 3_000;

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

export interface UserResult {
  /** 128 + the signal's number where a signal ended it. */
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
  readonly isTimedOut: boolean;
}

export interface UserRun extends UserCommand {
  readonly input?: string | AsyncIterable<Uint8Array>;
  /** The most of each output that is kept: its beginning and its end. */
  readonly keep?: number;
  readonly onOutput?: (bytes: Buffer) => void;
  /** Aborted when its time is over. */
  readonly deadline?: AbortSignal;
  /** It may leave others behind that hold its output: they are not waited for. */
  readonly leavesOthers?: boolean;
}

/** Runs a program as the agent's user to its end, or to its deadline or the signal: then its whole group is ended. */
export async function runAsAgent(run: UserRun, signal?: AbortSignal): Promise<UserResult> {
  const { input, keep = 1_000_000, onOutput, deadline, leavesOthers = false } = run;
  const child = startAsAgent(run);
  const exited = leavesOthers ? exitOf(child) : closeOf(child);
  const end = () => endGroup(child.pid);
  for (const each of [deadline, signal]) {
    if (each?.aborted) end();
    each?.addEventListener("abort", end, { once: true });
  }
  try {
    const stdout = new BoundedText(keep);
    const stderr = new BoundedText(keep);
    child.stdout.on("data", (bytes: Buffer) => {
      stdout.add(bytes);
      onOutput?.(bytes);
    });
    child.stderr.on("data", (bytes: Buffer) => {
      stderr.add(bytes);
      onOutput?.(bytes);
    });
    await feed(child, input);
    const code = await exited;
    return {
      code,
      stdout: stdout.finish().text,
      stderr: stderr.finish().text,
      isTimedOut: deadline?.aborted === true,
    };
  } finally {
    for (const each of [deadline, signal]) each?.removeEventListener("abort", end);
  }
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

const signalNumbers: Readonly<Record<string, number>> = {
  ...{ SIGHUP: 1, SIGINT: 2, SIGQUIT: 3, SIGILL: 4, SIGABRT: 6, SIGBUS: 7, SIGFPE: 8, SIGKILL: 9 },
  ...{ SIGSEGV: 11, SIGPIPE: 13, SIGTERM: 15 },
};

/** So long may others hold the pipes of a program that has ended. */
const lastWordsMs = 200;

/** Its exit code once it has ended. Its pipes may outlive it in a child of its own, which is no reason to wait. */
export function exitOf(child: ChildProcess): Promise<number> {
  return new Promise((resolve) => {
    child.once("error", () => resolve(127));
    child.once("exit", (code, signal) => {
      const done = () => {
        clearTimeout(timer);
        resolve(statusOf(code, signal));
      };
      // A timer that comes late comes before what waits to be read: that has a turn of its own.
      const timer = setTimeout(() => setImmediate(() => setImmediate(done)), lastWordsMs);
      child.once("close", done);
    });
  });
}

/** Its exit code once it has ended and all that it wrote was read. */
function closeOf(child: ChildProcess): Promise<number> {
  return new Promise((resolve) => {
    child.once("error", () => resolve(127));
    child.once("close", (code: number | null, signal: NodeJS.Signals | null) =>
      resolve(statusOf(code, signal)),
    );
  });
}

function statusOf(code: number | null, signal: NodeJS.Signals | null): number {
  return code ?? 128 + (signalNumbers[signal ?? ""] ?? 0);
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
    cpuMs: (Number(fields[11] ?? 0) + Number(fields[12] ?? 0)) * tickMs,
    rssBytes: Math.max(0, Number(fields[21] ?? 0)) * pageBytes,
  };
}

/**
 * Ends everything that the agent's user runs, whatever group or session it hides in. The kernel sends the signal to all of
 * them in one step, so that no fork can win a race; looking confirms it.
 */
export async function endAgentProcesses(): Promise<void> {
  const begunAt = performance.now();
  for (;;) {
    // Without a look before: who forks all the time is gone from wherever one looks.
    const hasStruck = await sendKiller();
    const left = await findAgentProcesses();
    if (hasStruck && left.length === 0) return;
    const spentMs = performance.now() - begunAt;
    if (spentMs > unkillableMs) throw new Error("Processes of the agent do not end");
    // What is left stands up to its like: the killer found no room, or was itself ended or stopped. That is not to be done to us.
    for (const { pid } of left) endProcess(pid);
    // The last resort ends lines to the host as well, which are made again.
    if (spentMs > lastResortMs) for (let blow = 0; blow < blows; blow += 1) endProcess(-1);
    await delay(lookAgainMs);
  }
}

/** Tells everything that the agent's user runs that its time is over. */
export async function askAgentProcesses(): Promise<void> {
  for (const { pid } of await findAgentProcesses()) endProcess(pid, "SIGTERM");
}

/** It has the rights of those that it is to end, so that it cannot hit anybody else, and they could stop it: whether it came to strike. */
async function sendKiller(): Promise<boolean> {
  // It changes its user by itself: were it stopped before its program runs, whoever started it would wait for that.
  const killer = spawn(changeUser, [...asAgent, "/bin/sh", "-c", endEverything], {
    cwd: "/",
    env: {},
    stdio: "ignore",
  });
  const enough = new AbortController();
  const held = delay(killerMs, null, { signal: enough.signal }).catch(() => null);
  const code = await Promise.race([exitOf(killer), held]);
  enough.abort();
  // 1: there was nobody.
  return code === 0 || code === 1;
}

function endProcess(pid: number, signal: NodeJS.Signals = "SIGKILL"): void {
  try {
    process.kill(pid, signal);
  } catch (error) {
    if (!(error instanceof Error && "code" in error && error.code === "ESRCH")) throw error;
  }
}
