import { addAbortListener } from "node:events";
import { openAcpSession } from "./acp-session.ts";
import {
  type AcpUpdateResult,
  applyAcpPermissionRequest,
  applyAcpUpdate,
  computeTurnUsage,
  createAcpTurnState,
  endOpenToolCalls,
  flushAgentMessage,
} from "./acp-turn-state.ts";
import type { Agent, AgentProgram, AgentTurn, TurnEnd, TurnSandbox } from "./agent.ts";
import { classifyModelFailure, classifyRpcFailure, classifyStopReason } from "./classify-acp-end.ts";
import { openJsonRpc, RpcFailure, RpcProtocolError } from "./json-rpc.ts";
import {
  type JsonObject,
  readIdField,
  readStringField,
  toJsonObject,
  toJsonObjects,
} from "./read-json-fields.ts";
import { agentCrash, createTurnFailure } from "./turn-failure.ts";
import { killProgramAfter, waitForExitOrKill } from "./wait-for-exit.ts";

/**
 * How long, in milliseconds, an agent may take to exit after the adapter has closed its input (`exitMs`), and
 * to stop after a cancel (`stopMs`).
 */
const exitMs = 10_000;
const stopMs = 5_000;

/**
 * The last total cost of each conversation. A conversation may span several programs, and agents report only
 * totals.
 */
const costById = new Map<string, number>();

/** The kind of agent for programs that implement version 1 of the Agent Client Protocol. */
export const acpAgent: Agent = {
  kind: "acp",
  program: ({ command }) => command?.[0] ?? "",
  needsOneOf: [],
  versionFlags: [],
  runTurn: executeTurn,
};

async function executeTurn(turn: AgentTurn, tools: TurnSandbox, signal: AbortSignal): Promise<TurnEnd> {
  const { command } = turn.agent;
  if (!command)
    return createTurnFailure(
      "AGENT_NOT_FOUND",
      "worker",
      "the task request names no agent program that speaks the Agent Client Protocol",
    );
  if (signal.aborted) return wasStopped;
  const program = tools.start(command);
  const end = await endOf(startConversation(turn, tools, program), program, signal);
  // Kills an agent that has violated the protocol, since it may not obey a request to end either.
  if (end.kind === "broke" && end.error instanceof RpcProtocolError) await program.kill();
  else program.endInput();
  const code = await waitForExitOrKill(program, exitMs);
  if (signal.aborted) return wasStopped;
  return end.kind === "broke" ? classifyRpcFailure(end.error, { code, stderrTail: program.stderrTail }) : end;
}

/**
 * Waits until the agent has finished its turn. When `signal` aborts, cancels the turn, and kills the agent if
 * it does not stop.
 */
async function endOf(
  conversation: ReturnType<typeof startConversation>,
  program: AgentProgram,
  signal: AbortSignal,
): Promise<TurnEnd | Broken> {
  await using cleanup = new AsyncDisposableStack();
  const stop = (): void => {
    conversation.cancel();
    cleanup.use(killProgramAfter(program, stopMs));
  };
  cleanup.use(addAbortListener(signal, stop));
  return await conversation.end;
}

const wasStopped: TurnEnd = agentCrash("the adapter stopped the agent");

interface Broken {
  readonly kind: "broke";
  readonly error: RpcFailure;
}

function startConversation(turn: AgentTurn, tools: TurnSandbox, program: AgentProgram) {
  const reporter = reportUpdates(tools);
  const rpc = openJsonRpc(program, {
    onRequest: (method, params) =>
      method === "session/request_permission" ? reporter.permit(params) : undefined,
    onNotification: (method, params) => {
      if (method === "session/update") reporter.take(toJsonObject(params["update"]));
    },
  });
  let sessionId: string | null = null;
  return {
    end: runTurn(),
    cancel() {
      if (sessionId !== null) rpc.notify("session/cancel", { sessionId });
    },
  };

  async function runTurn(): Promise<TurnEnd | Broken> {
    try {
      const session = await openAcpSession(rpc, turn, tools);
      if (session.kind === "failed") return session;
      sessionId = session.id;
      // The earlier cost of a resumed conversation is known only if the agent reported it to this process of the adapter.
      const earlierCostUsd = session.isResumed ? (costById.get(session.id) ?? null) : 0;
      const text = session.isResumed ? turn.prompt : (turn.promptForNewConversation ?? turn.prompt);
      let answer: JsonObject = {};
      reporter.begin();
      try {
        answer = await rpc.request("session/prompt", { sessionId, prompt: [{ type: "text", text }] });
      } finally {
        reporter.finish();
        // Reports the usage of a failed turn, too, since providers bill it.
        const facts = reporter.facts();
        if (facts.totalCostUsd !== null) costById.set(session.id, facts.totalCostUsd);
        const usage = computeTurnUsage(answer, facts, earlierCostUsd);
        if (usage) tools.reportUsage(usage);
      }
      const end = classifyStopReason(readStringField(answer, "stopReason"));
      const { modelFailure } = reporter.facts();
      if (end.kind === "ended" && modelFailure) return classifyModelFailure(modelFailure);
      if (end.kind === "ended" && reporter.hasDenied())
        return agentCrash("the agent requested a permission that the adapter cannot grant");
      return end;
    } catch (error) {
      if (error instanceof RpcFailure) return { kind: "broke", error };
      throw error;
    }
  }
}

/** Reports the agent's updates during one turn as activities, and answers its permission requests. */
function reportUpdates(tools: TurnSandbox) {
  let facts = createAcpTurnState();
  let isReporting = false;
  let hasDenied = false;

  function apply(step: AcpUpdateResult): void {
    facts = step.facts;
    for (const activity of step.activities) tools.report(activity);
  }

  return {
    /**
     * Starts to report the agent's updates. Earlier updates are ignored: an agent that loads a conversation
     * first sends the old updates again.
     */
    begin() {
      isReporting = true;
    },
    take(update: JsonObject) {
      if (isReporting) apply(applyAcpUpdate(facts, update));
    },
    /**
     * Returns the answer to a permission request of the agent. Selects an option that allows the tool call, or
     * cancels the request if it offers no such option.
     */
    permit(request: JsonObject) {
      apply(applyAcpPermissionRequest(facts, request));
      const options = toJsonObjects(request["options"]);
      // Chooses by kind, since the names of options differ between agents. Prefers `allow_once`: for `allow_always`, some
      // agents write a file into the work folder, which would end up in a commit.
      const yes = ["allow_once", "allow_always"].flatMap((kind) =>
        options.filter((option) => option["kind"] === kind),
      )[0];
      // The answer repeats the option's ID, so an option whose ID is missing or too long cannot be chosen.
      const optionId = yes ? readIdField(yes, "optionId") : null;
      hasDenied ||= optionId === null;
      return { outcome: optionId === null ? { outcome: "cancelled" } : { outcome: "selected", optionId } };
    },
    finish() {
      apply(flushAgentMessage(facts));
      for (const activity of endOpenToolCalls(facts)) tools.report(activity);
      isReporting = false;
    },
    facts: () => facts,
    hasDenied: () => hasDenied,
  };
}
