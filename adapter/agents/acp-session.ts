import type { AgentTurn, TurnFailure, TurnSandbox } from "./agent.ts";
import { createTurnFailure } from "./classify-acp-end.ts";
import { type JsonRpc, RpcError } from "./json-rpc.ts";
import {
  type JsonObject,
  readNumberField,
  readStringField,
  toJsonObject,
  toJsonObjects,
} from "./read-json-fields.ts";

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
  const loaded = kept === null ? null : await load(rpc, kept);
  if (kept !== null && loaded !== null) {
    const refused = await prepare(rpc, turn, kept, loaded);
    return refused ?? { kind: "open", id: kept, isResumed: true };
  }

  const made = await rpc.request("session/new", { cwd, mcpServers });
  const id = readStringField(made, "sessionId");
  if (id === null)
    return createTurnFailure("AGENT_CRASH", "worker", "the agent's answer to session/new has no sessionId");
  await tools.conversation.keep(id);
  const refused = await prepare(rpc, turn, id, made);
  return refused ?? { kind: "open", id, isResumed: false };
}

/**
 * Asks the agent to load an earlier conversation. Returns null if the agent cannot load it; the caller then
 * opens a new conversation.
 */
async function load(rpc: JsonRpc, sessionId: string): Promise<JsonObject | null> {
  try {
    return await rpc.request("session/load", { sessionId, cwd, mcpServers });
  } catch (error) {
    if (error instanceof RpcError) return null;
    throw error;
  }
}

async function prepare(
  rpc: JsonRpc,
  turn: AgentTurn,
  sessionId: string,
  session: JsonObject,
): Promise<TurnFailure | null> {
  await chooseMode(rpc, sessionId, session);
  return chooseModel(rpc, turn, sessionId, session);
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
  try {
    await rpc.request("session/set_mode", { sessionId, modeId });
  } catch (error) {
    // Continues in the agent's default mode, in which the agent asks for permissions and the adapter answers.
    if (!(error instanceof RpcError)) throw error;
  }
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
