import { spawnSync } from "node:child_process";
import { readFile } from "node:fs/promises";
import { getuid } from "node:process";
import type { Command } from "./processes.ts";

/**
 * Wraps a command so that it runs in its own process and mount namespaces, if this user may create them. When the command
 * ends, however it does, the kernel ends all processes that it started and removes their mounts. It also ends with its parent.
 */
export function contained(command: Command): Command {
  const namespaces: Command = ["unshare", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc"];
  const endsWithParent: Command = ["setpriv", "--pdeathsig", "KILL"];
  // The first process of a namespace must reap orphans, which a shell does.
  const reaps: Command = ["sh", "-c", '"$@"; exit $?', "sh"];
  const [program, ...args] = [...endsWithParent, ...namespaces, ...reaps];
  const canDo = getuid?.() === 0 && spawnSync(program, [...args, "true"]).status === 0;
  return canDo ? [program, ...args, ...command] : command;
}

interface Caller {
  readonly pid: number;
  /** The start time, which tells it from a later process with the same id. */
  readonly since: string;
}

/** Ends this process when npm or a process between the two has ended: they cannot forward a SIGKILL. */
export async function endWithCaller(): Promise<void> {
  const callers = await callersUpToNpm();
  const look = async (): Promise<void> => {
    const now = await Promise.all(callers.map(({ pid }) => readProcess(pid)));
    if (callers.some(({ since }, at) => now[at]?.since !== since)) process.exit(1);
  };
  setInterval(() => void look(), 500).unref();
}

/** The parent process and its ancestors up to npm; only the parent if npm did not start this process. */
async function callersUpToNpm(): Promise<Caller[]> {
  const callers: Caller[] = [];
  // At most three: the launcher that found Node 24, npm's shell, and npm.
  for (let pid = process.ppid; callers.length < 3; ) {
    const found = await readProcess(pid);
    if (!found) break;
    callers.push({ pid, since: found.since });
    if (found.title.startsWith("npm")) return callers;
    pid = found.parent;
  }
  const isOfNpm = process.env["npm_lifecycle_event"] !== undefined;
  // npm ended before this process could find it: its shell is now a child of process 1.
  if (isOfNpm && (await readProcess(callers.at(1)?.pid ?? 0))?.parent === 1) process.exit(1);
  return callers.slice(0, 1);
}

async function readProcess(pid: number): Promise<{ since: string; parent: number; title: string } | null> {
  try {
    const stat = await readFile(`/proc/${pid}/stat`, "utf8");
    // The fields after the program's name, which may contain spaces and brackets.
    const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
    const [state = "", parent = ""] = fields;
    if (state === "Z") return null;
    return {
      ...{ since: fields[19] ?? "", parent: Number(parent) },
      title: await readFile(`/proc/${pid}/cmdline`, "utf8"),
    };
  } catch {
    return null;
  }
}
