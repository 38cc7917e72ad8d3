import type { Notice } from "../domain/generated/notice.ts";

/** Whoever is told has this long. */
const limitMs = 60_000;

/** Runs a command of the user's with a notice as its input. Why it failed; null where it did not. */
export async function runNotifier(root: string, command: string, notice: Notice): Promise<string | null> {
  const { execa } = await import("execa");
  const { exitCode, timedOut, stderr } = await execa("sh", ["-c", command], {
    ...{ cwd: root, reject: false, timeout: limitMs, maxBuffer: 100_000 },
    input: `${JSON.stringify(notice)}\n`,
  });
  if (exitCode === 0) return null;
  if (timedOut) return `it took longer than ${limitMs / 1_000} s`;
  return stderr.trim().split("\n").at(-1) || `exit ${exitCode ?? "by a signal"}`;
}
