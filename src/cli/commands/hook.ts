import { SwarmError } from "../../domain/errors.ts";
import { exitCodes } from "../../domain/exit-codes.ts";
import { workerSlug } from "../../domain/slug.ts";
import { endLine } from "../../domain/swarm-line.ts";
import { argumentAt, type CommandHandler } from "../command.ts";

const events = ["pre-tool-use", "session-start", "post-tool-use"];

/** The quick ones are answered before this is loaded; what comes here waits, or was mistyped. */
export const hook: CommandHandler = async (context, args, { plugin }) => {
  const event = argumentAt(args, 0);
  if (event !== "post-tool-use")
    throw new SwarmError("USAGE", { message: `swarm hook wants one of: ${events.join(", ")}` });
  const program = typeof plugin === "string" ? `${plugin}/bin/swarm` : "swarm";
  const { output, swarm, signal } = context;
  const input = await output.withInput((bytes) => textOf(bytes));
  if (!beginsSwarm(input)) return exitCodes.done;
  const words = { slugs: null, timeoutMs: null, onEnded: () => {} };
  const { state } = await swarm.watch().wait(words, signal);
  // By codes only: what workers say of themselves is nothing to be told to an agent as if we said it.
  const failed = state.containers
    .filter(({ status }) => status === "failed")
    .map((record) => `${workerSlug(record)}: ${record.reason?.code ?? "failed"}`);
  output.result({ swarm: state }, () => [
    [endLine(state), ...failed.slice(0, 20)].join("; "),
    `next: ${program} summary --json`,
  ]);
  return exitCodes.done;
};

/** Whether a call of a tool left a swarm in the background. */
function beginsSwarm(input: string): boolean {
  try {
    const command: unknown = JSON.parse(input)?.tool_input?.command;
    if (typeof command !== "string") return false;
    return /\/bin\/swarm (?:start|resume)\s(?:.*\s)?(?:-d|--detach)(?:\s|$)/.test(command);
  } catch {
    return false;
  }
}

const mostBytes = 256 * 1024;

async function textOf(bytes: AsyncIterable<Uint8Array>): Promise<string> {
  const pieces: Uint8Array[] = [];
  let length = 0;
  for await (const piece of bytes) {
    length += piece.length;
    if (length > mostBytes) return "";
    pieces.push(piece);
  }
  return Buffer.concat(pieces).toString();
}
