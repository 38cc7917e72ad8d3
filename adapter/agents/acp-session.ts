import type { AgentTurn, TurnFailure, TurnSandbox } from "./agent.ts";
import { type JsonRpc, RpcError } from "./json-rpc.ts";
import {
  type JsonObject,
  readNumberField,
  readStringField,
  toJsonObject,
  toJsonObjects,
} from "./read-json-fields.ts";
import { createTurnFailure } from "./turn-failure.ts";

/** An open session of the Agent Client Protocol, to which the adapter can send a prompt. */
export interface AcpSession {
  readonly kind: "open";
  readonly id: string;
  readonly isResumed: boolean;
}

const protocolVersion = 1;
const cwd = "/workspace";
const mcpServers: readonly never[] = [];

/**
 * Initializes the protocol and loads the conversation of the story's earlier turn. Opens a new conversation
 * if there is none, or if the agent no longer has it.
 */
export async function openAcpSession(
  rpc: JsonRpc,
  turn: AgentTurn,
  tools: TurnSandbox,
): Promise<AcpSession | TurnFailure> {
  const greeting = await rpc.request("initialize", {
    protocolVersion,
    clientInfo: { name: "aimi-swarm", version: "1" },
    // Offers the agent no access to files and terminals through the adapter: the agent is in the same sandbox and reaches
    // both directly.
    clientCapabilities: { fs: { readTextFile: false, writeTextFile: false }, terminal: false },
  });
  const spoken = readNumberField(greeting, "protocolVersion");
  if (spoken !== protocolVersion)
    return createTurnFailure(
      "AGENT_CRASH",
      "worker",
      `the agent speaks version ${spoken} of the Agent Client Protocol, not ${protocolVersion}`,
    );

  const canLoad = toJsonObject(greeting["agentCapabilities"])["loadSession"] === true;
  const kept = turn.continues && canLoad ? tools.conversation.id : null;
  const loaded =
    kept === null ? null : await requestOrNull(rpc, "session/load", { sessionId: kept, cwd, mcpServers });
  const session = loaded ?? (await rpc.request("session/new", { cwd, mcpServers }));
  const id = loaded === null ? readStringField(session, "sessionId") : kept;
  if (id === null)
    return createTurnFailure("AGENT_CRASH", "worker", "the agent's answer to session/new has no sessionId");
  if (loaded === null) await tools.conversation.keep(id);
  await chooseMode(rpc, id, session);
  return (await chooseModel(rpc, turn, id, session)) ?? { kind: "open", id, isResumed: loaded !== null };
}

/** Sends a request, and returns null if the agent answers with an error, for example because it lost a session. */
async function requestOrNull(rpc: JsonRpc, method: string, params: JsonObject): Promise<JsonObject | null> {
  try {
    return await rpc.request(method, params);
  } catch (error) {
    if (error instanceof RpcError) return null;
    throw error;
  }
}

/**
 * The names of the modes in which Claude, Gemini and Codex ask for no permission and create no sandbox of
 * their own.
 */
const freeModes = ["bypassPermissions", "yolo", "agent-full-access"];

/**
 * Chooses a mode in which the agent asks for no permission and creates no sandbox of its own, if it offers
 * one. No user could answer, and no sandbox can be created inside the container, which is the security
 * boundary.
 */
async function chooseMode(rpc: JsonRpc, sessionId: string, session: JsonObject): Promise<void> {
  const offered = toJsonObjects(toJsonObject(session["modes"])["availableModes"]).map((mode) =>
    readStringField(mode, "id"),
  );
  const modeId = offered.find((id) => id !== null && freeModes.includes(id));
  if (!modeId) return;
  // After a refusal, continues in the agent's default mode, in which the agent asks for permissions and the adapter
  // answers.
  await requestOrNull(rpc, "session/set_mode", { sessionId, modeId });
}

/**
 * Selects the model that the task requests. Returns a failure if the agent does not offer that model, because
 * another model would have another price.
 */
async function chooseModel(
  rpc: JsonRpc,
  { agent: { model } }: AgentTurn,
  sessionId: string,
  session: JsonObject,
): Promise<TurnFailure | null> {
  if (model === undefined) return null;
  const option = toJsonObjects(session["configOptions"]).find(
    (offered) => offered["category"] === "model" || offered["id"] === "model",
  );
  const configId = option && readStringField(option, "id");
  try {
    if (configId) await rpc.request("session/set_config_option", { sessionId, configId, value: model });
    else if (session["models"] !== undefined)
      await rpc.request("session/set_model", { sessionId, modelId: model });
    else
      return noModel(
        model,
        "the agent offers no choice of models; name the model on the agent's command line",
      );
    return null;
  } catch (error) {
    if (error instanceof RpcError) return noModel(model, error.message);
    throw error;
  }
}

function noModel(model: string, why: string): TurnFailure {
  return createTurnFailure("AGENT_CRASH", "worker", `the model ${model} cannot be selected: ${why}`);
}
