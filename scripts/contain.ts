import { spawnSync } from "node:child_process";
import { readFile } from "node:fs/promises";
import { getuid } from "node:process";
import type { Command } from "./processes.ts";

/**
 * The same command in process and mount namespaces of its own, where this user may make them. However it ends, the kernel ends
 * all processes that it started and takes away their mounts; it ends with the process that starts it, too.
 */
export function contained(command: Command): Command {
  const namespaces: Command = ["unshare", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc"];
  const endsWithUs: Command = ["setpriv", "--pdeathsig", "KILL"];
  // The first process of a namespace has to bury those whose parents died; a shell does.
  const buries: Command = ["sh", "-c", '"$@"; exit $?', "sh"];
  const [program, ...args] = [...endsWithUs, ...namespaces, ...buries];
  const canDo = getuid?.() === 0 && spawnSync(program, [...args, "true"]).status === 0;
  return canDo ? [program, ...args, ...command] : command;
}

interface Caller {
  readonly pid: number;
  /** Since when it runs, for numbers are used again. */
  readonly since: string;
}

/** A kill -9 of npm tells nobody: this process ends when npm, or a process between the two, has ended. */
export async function endWithCaller(): Promise<void> {
  const callers = await callersUpToNpm();
  const look = async (): Promise<void> => {
    const now = await Promise.all(callers.map(({ pid }) => lookAt(pid)));
    if (callers.some(({ since }, at) => now[at]?.since !== since)) process.exit(1);
  };
  setInterval(() => void look(), 500).unref();
}

/** The parent, and those above it up to npm if it began them. */
async function callersUpToNpm(): Promise<Caller[]> {
  const callers: Caller[] = [];
  // The program that found Node 24, npm's shell, and npm.
  for (let pid = process.ppid; callers.length < 3; ) {
    const found = await lookAt(pid);
    if (!found) break;
    callers.push({ pid, since: found.since });
    if (found.title.startsWith("npm")) return callers;
    pid = found.parent;
  }
  const isOfNpm = process.env["npm_lifecycle_event"] !== undefined;
  // npm ended before this process could look for it: its shell is a child of the first process now.
  if (isOfNpm && (await lookAt(callers.at(1)?.pid ?? 0))?.parent === 1) process.exit(1);
  return callers.slice(0, 1);
}

async function lookAt(pid: number): Promise<{ since: string; parent: number; title: string } | null> {
  try {
    const stat = await readFile(`/proc/${pid}/stat`, "utf8");
    // Behind the name, which may have spaces and brackets in it.
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
