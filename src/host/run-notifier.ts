import type { Notice } from "../domain/generated/notice.ts";

/** Whoever is told has this long, with all that was started by it. */
const usualLimitMs = 60_000;

/** Runs a command of the user's with a notice as its input. Why it failed; null where it did not. */
export async function runNotifier(
  root: string,
  command: string,
  notice: Notice,
  limitMs: number = usualLimitMs,
): Promise<string | null> {
  const { execa } = await import("execa");
  // A group of its own: what it leaves in the background would be waited for as long as it holds our pipes.
  const run = execa("sh", ["-c", command], {
    ...{ cwd: root, reject: false, detached: true, maxBuffer: 100_000 },
    input: `${JSON.stringify(notice)}\n`,
  });
  let isTimedOut = false;
  const timer = setTimeout(() => {
    isTimedOut = true;
    try {
      if (run.pid !== undefined) process.kill(-run.pid, "SIGKILL");
    } catch {
      // It has ended at this moment.
    }
  }, limitMs);
  const { exitCode, stderr } = await run;
  clearTimeout(timer);
  if (isTimedOut) return `it took longer than ${limitMs / 1_000} s`;
  if (exitCode === 0) return null;
  return stderr.trim().split("\n").at(-1) || `exit ${exitCode ?? "by a signal"}`;
}
