import { join } from "node:path";
import { sanitizeText } from "../text/sanitize-text.ts";
import { decideToolCall, type Installation, renderCommandAnswer } from "./decide-tool-call.ts";
import { findSwarm } from "./find-swarm.ts";
import { logHookDecision } from "./hook-decision-log.ts";
import { readStandardInput } from "./hook-payload.ts";
import { formatSessionContextLine } from "./rules/status-texts.ts";
import { renderStatusLine } from "./status-line.ts";

export interface FastHookInput extends Omit<Installation, "pluginRoot"> {
  readonly folder: string;
  /** The path of the folder in which the hook logs its decisions. */
  readonly stateFolder: string;
  readonly write: (text: string) => void;
}

/**
 * Runs the command if it is one of swarm's fast Claude Code hooks or its status line; returns false for any
 * other command. To be fast, reads only files and loads no npm packages.
 */
export async function answerFastHook(
  words: readonly string[],
  placeOf: () => FastHookInput,
): Promise<boolean> {
  const place = placeOf();
  const [command, first, ...rest] = words;
  if (command === "hook" && first === "pre-tool-use") return answerPreToolUse(rest, place);
  if (command === "hook" && first === "session-start" && rest.length <= 2) return greet(rest, place);
  if (command === "statusline") return showStatusLine(words.slice(1), place);
  return false;
}

function answerPreToolUse(rest: readonly string[], { stateFolder, write, ...place }: FastHookInput): boolean {
  const isExplained = rest.at(-1) === "--explain";
  const pluginRoot = pluginRootIn(isExplained ? rest.slice(0, -1) : rest, place.root);
  if (pluginRoot === null) return false;
  const input = readStandardInput();
  if (input === null) return true;
  const answer = decideToolCall(input, { ...place, pluginRoot });
  if (isExplained) {
    write(`${answer.decision}: ${sanitizeText(answer.why)}\n`);
    return true;
  }
  if (answer.decision !== "silent") write(renderCommandAnswer(answer));
  const { command } = answer;
  const concerns = answer.decision !== "silent" || command?.includes("/bin/swarm");
  if (command !== null && concerns) logHookDecision(stateFolder, { ...answer, command }, new Date());
  return true;
}

function greet(rest: readonly string[], { folder, root, write }: FastHookInput): boolean {
  const pluginRoot = pluginRootIn(rest, root);
  if (pluginRoot === null) return false;
  const found = findSwarm(folder);
  const program = join(pluginRoot, "bin", "swarm");
  const news = found && formatSessionContextLine(found.swarm, { isOwned: found.isOwned, program });
  if (news !== null) write(`${news}\n`);
  return true;
}

async function showStatusLine(words: readonly string[], { folder, write }: FastHookInput): Promise<boolean> {
  const [flag, wrapped = null, ...more] = words;
  const isKnown = flag === undefined || (flag === "--wrap" && wrapped !== null);
  if (!isKnown || more.length > 0) return false;
  const { isatty } = await import("node:tty");
  const input = isatty(0) ? "" : (readStandardInput() ?? "");
  const line = await renderStatusLine(input, { folder, wrapped });
  if (line !== "") write(`${line}\n`);
  return true;
}

/**
 * Returns the plugin's folder from the arguments `--plugin <folder>`, or this package's folder if there are
 * no arguments. Returns null for any other arguments.
 */
function pluginRootIn(rest: readonly string[], root: string): string | null {
  if (rest.length === 0) return root;
  const [flag, folder = ""] = rest;
  return flag === "--plugin" && folder.startsWith("/") && rest.length === 2 ? folder : null;
}
