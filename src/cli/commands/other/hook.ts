import { judgeAgentCommand } from "../../../claude-code/rules/approve-command.ts";
import { formatEndLine } from "../../../claude-code/rules/status-texts.ts";
import type { ContainerRecord } from "../../../contract/swarm-state.ts";
import { usageError } from "../../../errors/errors.ts";
import { requireSwarmState } from "../../../state/find-state.ts";
import { waitForWorkers } from "../../../swarm/wait-for-workers.ts";
import { workerSlug } from "../../../text/slugs.ts";
import { argumentAt, type CommandHandler } from "../../flags/command.ts";

const events = ["pre-tool-use", "session-start", "post-tool-use"];
const orphanLookMs = 2_000;

/**
 * Handles the Claude Code hook `post-tool-use`, which waits for the end of a swarm. Rejects any other event
 * name, because `fast-hooks.ts` has already handled the other valid ones.
 */
export const hookCommand: CommandHandler = async (context, args, { plugin }) => {
  const event = argumentAt(args, 0);
  if (event !== "post-tool-use" || typeof plugin !== "string")
    throw usageError(`swarm hook needs an event: one of ${events.join(", ")}`);
  const program = `${plugin}/bin/swarm`;
  const { output, project, signal } = context;
  const input = await output.withInput(textOf);
  if (!beginsSwarm(input, program)) return;
  using session = sessionSignal();
  const words = { slugs: null, timeoutMs: null, onEnded: () => {} };
  // Throws if the state file belongs to another project.
  await requireSwarmState(project);
  const { state } = await waitForWorkers(project, words, AbortSignal.any([signal, session.signal]));
  const failed = state.containers.filter(({ status }) => status === "failed").map(failedWords);
  output.result({ swarm: state }, () => [
    [formatEndLine(state), ...failed.slice(0, 20)].join("; "),
    `next: ${program} summary --json`,
  ]);
};

/**
 * Describes a failed worker to Claude Code by its error code only. The error message may contain text from
 * the worker, which Claude Code must not take for text from swarm.
 */
function failedWords(record: ContainerRecord): string {
  const code = record.reason?.code ?? "";
  return `${workerSlug(record).slice(0, 30)}: ${/^[A-Z][A-Z_]{2,39}$/.test(code) ? code : "failed"}`;
}

/**
 * Returns whether a tool call ran `swarm start` or `swarm resume` in the background. A shell command that
 * only quotes this text does not count.
 */
function beginsSwarm(input: string, program: string): boolean {
  try {
    const { tool_name: tool, tool_input: call } = JSON.parse(input);
    const command: unknown = call?.command;
    if (tool !== "Bash" || typeof command !== "string") return false;
    const [first, verb, ...rest] = command.split(" ");
    const isDetached = rest.includes("-d") || rest.includes("--detach");
    return (
      first === program &&
      (verb === "start" || verb === "resume") &&
      isDetached &&
      judgeAgentCommand(command, [program]).kind === "allow"
    );
  } catch {
    return false;
  }
}

/**
 * Returns a signal that aborts when the Claude Code session ends. The session is this process's parent
 * process, so its end changes the parent process ID.
 */
function sessionSignal(): Disposable & { readonly signal: AbortSignal } {
  const controller = new AbortController();
  const parent = process.ppid;
  const timer = setInterval(() => {
    if (process.ppid !== parent) controller.abort(new Error("the Claude Code session has ended"));
  }, orphanLookMs);
  return { signal: controller.signal, [Symbol.dispose]: () => clearInterval(timer) };
}

const maxBytes = 256 * 1024;

async function textOf(bytes: AsyncIterable<Uint8Array>): Promise<string> {
  const pieces: Uint8Array[] = [];
  let length = 0;
  for await (const piece of bytes) {
    length += piece.length;
    if (length > maxBytes) return "";
    pieces.push(piece);
  }
  return Buffer.concat(pieces).toString();
}
