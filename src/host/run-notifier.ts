import type { Notice } from "../domain/generated/notice.ts";

/** Whoever is told has this long, with all that was started by it. */
const usualLimitMs = 60_000;

const webhook = "webhook:";

/**
 * Tells somebody of a notice: `webhook:https://…` gets it as JSON, `desktop` shows its text, and anything else is a command of
 * the user's with it as its input. Why that failed; null where it did not.
 */
export async function runNotifier(
  root: string,
  words: string,
  notice: Notice,
  limitMs: number = usualLimitMs,
): Promise<string | null> {
  if (words.startsWith(webhook)) return post(words.slice(webhook.length), notice, limitMs);
  if (words !== "desktop") return runCommand({ root, command: ["sh", "-c", words] }, notice, limitMs);
  const title = `swarm in ${notice.project}`;
  // As arguments: what stands in them is shown, and never run.
  const script =
    "on run words\n display notification (item 2 of words) with title (item 1 of words)\nend run";
  const command =
    process.platform === "darwin"
      ? ["osascript", "-e", script, title, notice.text]
      : ["notify-send", "--app-name=swarm", "--", title, asMarkup(notice.text)];
  return runCommand({ root, command }, notice, limitMs);
}

/** Desktops read marks in it. */
function asMarkup(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
}

async function post(url: string, notice: Notice, limitMs: number): Promise<string | null> {
  try {
    const { ok, status } = await fetch(url, {
      ...{ method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(notice) },
      signal: AbortSignal.timeout(limitMs),
    });
    return ok ? null : `the webhook answered ${status}`;
  } catch (error) {
    // Whose address it is stays out of what is printed: in it may be a secret.
    const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error;
    const code = (cause as NodeJS.ErrnoException).code;
    return `the webhook could not be reached${code ? `: ${code}` : ""}`;
  }
}

async function runCommand(
  { root, command: [program = "", ...args] }: { readonly root: string; readonly command: readonly string[] },
  notice: Notice,
  limitMs: number,
): Promise<string | null> {
  const { execa } = await import("execa");
  // A group of its own: what it leaves in the background would be waited for as long as it holds our pipes.
  const run = execa(program, args, {
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
  const { exitCode, stderr, code } = await run;
  clearTimeout(timer);
  if (code === "ENOENT") return `there is no ${program} here`;
  if (isTimedOut) return `it took longer than ${limitMs / 1_000} s`;
  if (exitCode === 0) return null;
  return stderr.trim().split("\n").at(-1) || `exit ${exitCode ?? "by a signal"}`;
}
