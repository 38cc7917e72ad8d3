import type { Notice } from "../../contract/notice.ts";

/**
 * The default time limit of a notification in milliseconds. At the limit, swarm kills the notification
 * program and its child processes.
 */
const usualLimitMs = 60_000;

const webhook = "webhook:";

/**
 * Delivers a notice to the user as `words` says: `webhook:<url>` posts the notice as JSON, `desktop` shows
 * its text, and any other value is a shell command that reads the notice on stdin. Returns null, or the
 * reason why the delivery failed.
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
  // Pass the texts as arguments, so that the program shows them and never executes them.
  const script =
    "on run words\n display notification (item 2 of words) with title (item 1 of words)\nend run";
  const command =
    process.platform === "darwin"
      ? ["osascript", "-e", script, title, notice.text]
      : ["notify-send", "--app-name=swarm", "--", title, asMarkup(notice.text)];
  return runCommand({ root, command }, notice, limitMs);
}

/** Escapes `&`, `<` and `>` in a text, because Linux desktops interpret markup in notifications. */
function asMarkup(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
}

async function post(url: string, notice: Notice, limitMs: number): Promise<string | null> {
  try {
    const { ok, status } = await fetch(url, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify(notice),
      signal: AbortSignal.timeout(limitMs),
    });
    return ok ? null : `the webhook answered ${status}`;
  } catch (error) {
    // Do not print the address: it may contain a secret.
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
  // Run the command in its own process group, so that the timeout also kills background processes that keep
  // our pipes open.
  const run = execa(program, args, {
    cwd: root,
    reject: false,
    detached: true,
    maxBuffer: 100_000,
    input: `${JSON.stringify(notice)}\n`,
  });
  let isTimedOut = false;
  const timer = setTimeout(() => {
    isTimedOut = true;
    try {
      if (run.pid !== undefined) process.kill(-run.pid, "SIGKILL");
    } catch {
      // Ignore the error of `kill`: the process has just ended.
    }
  }, limitMs);
  const { exitCode, stderr, code } = await run;
  clearTimeout(timer);
  if (code === "ENOENT") return `the program ${program} is not installed`;
  if (isTimedOut) return `the notification program took longer than ${limitMs / 1_000} s`;
  if (exitCode === 0) return null;
  return (
    stderr.trim().split("\n").at(-1) ||
    (exitCode === undefined ? "a signal ended the notification program" : `exit ${exitCode}`)
  );
}
