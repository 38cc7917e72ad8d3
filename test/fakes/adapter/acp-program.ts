import type { FakeProgram } from "./agent-tools.ts";

type Answer = Readonly<Record<string, unknown>>;

/** What an agent answers to a method: a result, or an error; null says nothing. */
export type AcpAnswers = Readonly<
  Record<string, ((params: Answer, agent: AcpAgentSide) => Answer | RpcFailure | null) | Answer>
>;

export interface RpcFailure {
  readonly error: { readonly code: number; readonly message: string; readonly data?: unknown };
}

export interface AcpAgentSide {
  readonly program: FakeProgram;
  update(update: Answer): void;
  /** Asks the client; what it answers is in `answers`. */
  ask(id: number | string, method: string, params: Answer): void;
  answerLater(result: Answer): void;
  /** All that came from the client, in order. */
  readonly received: readonly Message[];
}

export interface Message {
  readonly id?: number | string;
  readonly method?: string;
  readonly params?: Answer;
  readonly result?: unknown;
  readonly error?: unknown;
}

const ordinary: AcpAnswers = {
  initialize: { protocolVersion: 1, agentCapabilities: { loadSession: true } },
  "session/new": { sessionId: "made" },
  "session/load": {},
  "session/prompt": { stopReason: "end_turn" },
};

/** The other side of the Agent Client Protocol on a program in memory; ends when its input does. */
export function speakAcp(program: FakeProgram, answers: AcpAnswers = {}): AcpAgentSide {
  const received: Message[] = [];
  let promptId: number | string | undefined;
  const send = (message: Answer): void => program.print({ jsonrpc: "2.0", ...message });
  const agent: AcpAgentSide = {
    program,
    received,
    update: (update) => send({ method: "session/update", params: { sessionId: "made", update } }),
    ask: (id, method, params) => send({ id, method, params }),
    answerLater: (result) => send({ id: promptId, result }),
  };
  program.onLine((line) => {
    const message: Message = JSON.parse(line);
    received.push(message);
    const { id, method, params = {} } = message;
    if (method === undefined || id === undefined) return;
    if (method === "session/prompt") promptId = id;
    const scripted = answers[method] ?? ordinary[method];
    const answer = typeof scripted === "function" ? scripted(params, agent) : scripted;
    if (answer === null) return;
    if (answer === undefined) send({ id, error: { code: -32601, message: "Method not found" } });
    else if ("error" in answer) send({ id, error: answer["error"] });
    else send({ id, result: answer });
  });
  void program.inputEnded.then(() => program.end(0));
  return agent;
}
