import { mkdir, open } from "node:fs/promises";
import type { CheckResult } from "../../src/contract/acp.ts";
import { sanitizeLines, sanitizeText } from "../../src/text/sanitize-text.ts";
import { truncateTextStart } from "../../src/text/truncate-text.ts";
import { killAgentProcesses, runProgramAsAgentUser } from "../machine/agent-user.ts";
import { ProgramResultUnknownError, shellExitCode } from "../machine/program-end.ts";
import { outFolderPath, type SandboxPaths } from "../machine/sandbox-paths.ts";
import type { WatchedSandbox } from "../turn/run-turn.ts";

export interface ChecksToRun {
  readonly storyId: string;
  readonly commands: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  readonly limitMs: number;
}

export interface FailedCheck {
  readonly command: string;
  readonly result: string;
  /** The last part of the failed check's output, which the prompt for the repair contains. */
  readonly output: string;
  /** The resource that the sandbox ran out of during the check; null if it ran out of none. */
  readonly lacked: "memory" | "processes" | null;
}

const forAgent = 8_000;
const forHost = 500;
const keptLog = 1_000_000;

/**
 * Runs a story's checks one after another, and stops at the first that fails. Before each check, kills all
 * remaining processes of the agent's Linux user.
 */
export async function runChecks(
  { paths, clock, processes }: WatchedSandbox,
  { storyId, commands, env, limitMs }: ChecksToRun,
  signal: AbortSignal,
): Promise<{ readonly results: CheckResult[]; readonly failed: FailedCheck | null }> {
  const results: CheckResult[] = [];
  // No process of the agent's user should run at this point, but the agent may have tricked git into starting one.
  await killAgentProcesses();
  for (const command of commands) {
    signal.throwIfAborted();
    const startedAt = clock.now();
    using limit = clock.after(limitMs);
    await using span = await processes.begin();
    const { end, isOutOfMemory, stdout, stderr } = await runProgramAsAgentUser(
      {
        command: ["sh", "-c", command],
        env,
        folder: paths.workspace,
        maxOutputLength: keptLog,
        deadline: limit.signal,
        returnsOnExit: true,
      },
      AbortSignal.any([signal, span.limitReached]),
    );
    const hasPassed = end.kind === "exited" && end.code === 0;
    const whyRefused = hasPassed ? null : await span.whyRefused();
    // Kills the processes that a check left behind, since they could disturb the next check.
    await killAgentProcesses();
    signal.throwIfAborted();
    const output = sanitizeLines([stdout, stderr].filter(Boolean).join("\n"));
    const durationMs = Math.max(0, Math.round(clock.now() - startedAt));
    // Throws without a verdict, because a check that never started proves nothing.
    if (end.kind === "not-begun")
      throw new ProgramResultUnknownError(`\`${command}\``, { end, isOutOfMemory });
    const exitCode = end.kind === "deadline" ? null : shellExitCode(end);
    const result =
      exitCode === null
        ? `ended after its time limit of ${Math.round(limitMs / 1_000)} s`
        : `exit ${exitCode}`;
    await keepLog(paths, storyId, `$ ${command}\n${output}\n${result}\n\n`);
    results.push({
      command: sanitizeText(command),
      exitCode,
      durationMs,
      output: truncateTextStart(output.trim(), forHost),
    });
    if (exitCode !== 0) {
      const lacked = isOutOfMemory ? "memory" : whyRefused === null ? null : "processes";
      const failed = {
        command,
        result: lacked === null ? result : `${result}; the sandbox ran out of ${lacked}`,
        output: truncateTextStart(output, forAgent),
        lacked,
      } as const;
      return { results, failed };
    }
  }
  return { results, failed: null };
}

/**
 * Appends a check's output to the story's log file. Ignores write errors, such as a full disk, because the
 * journal contains the check's result.
 */
async function keepLog(paths: SandboxPaths, storyId: string, text: string): Promise<void> {
  const folder = `${outFolderPath(paths)}/checks`;
  try {
    await mkdir(folder, { recursive: true, mode: 0o700 });
    await using file = await open(`${folder}/${storyId}.log`, "a", 0o600);
    await file.writeFile(text);
  } catch {
    // Nothing important is lost: the check's result is in the journal.
  }
}
