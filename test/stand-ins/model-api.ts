import { appendFileSync, readFileSync } from "node:fs";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { setTimeout as delay } from "node:timers/promises";
import { parseArgs } from "node:util";
import { zstdDecompressSync } from "node:zlib";
import type { Answer, ApiWords, Piece } from "./answers.ts";
import { anthropicConversation, anthropicWords } from "./anthropic-words.ts";
import { geminiConversation, geminiWords } from "./gemini-words.ts";
import { chatWords, openaiConversation, responsesWords } from "./openai-words.ts";
import { type Chosen, chooseStep, type Fault, type Scenarios, type Spoken, type Step } from "./scenarios.ts";
import { toolCallsOf } from "./tool-calls.ts";

/**
 * Stands in for the APIs of models, for real agents without a key: Anthropic's, both of OpenAI's, and Gemini's.
 *   node model-api.ts --port 8801 --scenarios file.json [--host 0.0.0.0] [--folder /workspace] [--key expected] [--log file]
 * `GET /stand-in/requests` gives what it was asked so far.
 */
export interface ModelApiOptions {
  readonly scenarios: Scenarios;
  readonly port?: number;
  readonly host?: string;
  /** The agents' work folder. */
  readonly folder?: string;
  /** Refuses every other key. */
  readonly key?: string;
  /** A file to which each request is added. */
  readonly log?: string;
}

export interface SeenRequest {
  readonly at: string;
  readonly method: string;
  readonly path: string;
  readonly storyId: string | null;
  readonly round: number;
  readonly turn: number;
  readonly model: string | null;
  readonly key: string | null;
  readonly outcome: string;
  readonly tools: readonly string[];
  /** How much had been said before. */
  readonly messages: number;
}

export interface ModelApi extends AsyncDisposable {
  readonly port: number;
  readonly requests: readonly SeenRequest[];
}

/** Starts to listen. */
export async function startModelApi(options: ModelApiOptions): Promise<ModelApi> {
  const requests: SeenRequest[] = [];
  const failures = new Map<string, number>();
  const see = (request: SeenRequest): void => {
    requests.push(request);
    if (options.log !== undefined) appendFileSync(options.log, `${JSON.stringify(request)}\n`);
  };
  const server = createServer((request, response) => {
    answerRequest({ options, failures, requests, see }, request, response).catch((error: Error) => {
      if (!response.headersSent) response.writeHead(500);
      response.end(`stand-in: ${error.stack ?? error.message}`);
    });
  });
  // Some try a WebSocket first.
  server.on("upgrade", (_request, socket) =>
    socket.end("HTTP/1.1 426 Upgrade Required\r\ncontent-length: 0\r\n\r\n"),
  );
  const { host = "127.0.0.1", port = 0 } = options;
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject).listen(port, host, () => resolve());
  });
  const address = server.address();
  return {
    port: typeof address === "object" && address !== null ? address.port : 0,
    requests,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise<void>((resolve) => server.close(() => resolve()));
    },
  };
}

interface Deps {
  readonly options: ModelApiOptions;
  /** How often a fault that passes has happened: the one thing that the conversation does not tell. */
  readonly failures: Map<string, number>;
  readonly requests: readonly SeenRequest[];
  readonly see: (request: SeenRequest) => void;
}

interface Asked {
  readonly words: ApiWords;
  readonly conversation: readonly Spoken[];
  readonly model: string;
  readonly isStream: boolean;
  readonly tools: readonly string[];
}

// biome-ignore lint/suspicious/noExplicitAny: the bodies of four APIs, of which a test needs a few fields each.
type Body = any;

async function answerRequest(deps: Deps, request: IncomingMessage, response: ServerResponse): Promise<void> {
  const { options, see } = deps;
  const { method = "GET" } = request;
  const { pathname, searchParams } = new URL(request.url ?? "/", "http://stand-in");
  const { body, bytes } = await readBody(request);
  const asked = method === "POST" && body ? understand(pathname, body) : null;
  const chosen = chooseStep(asked?.conversation ?? [], options.scenarios);
  const key = keyOf(request) ?? searchParams.get("key");
  const { storyId, round, turn, step } = chosen;
  const told = { method, path: pathname, storyId, round, turn, model: asked?.model ?? null, key };
  const seen = (outcome: string): void =>
    see({
      ...{ at: new Date().toISOString(), ...told, tools: asked?.tools ?? [], outcome },
      messages: asked?.conversation.length ?? 0,
    });

  if (pathname === "/stand-in/requests") return json(response, 200, deps.requests);
  if (!asked) {
    seen("aside");
    return answerAside(pathname, response);
  }
  if (options.key !== undefined && key !== options.key) {
    seen("401");
    return json(response, 401, asked.words.error(401, "this is not the key"));
  }
  if (step.delayMs) await delay(step.delayMs);
  const fault = faultNow(deps, chosen);
  seen(fault ? JSON.stringify(fault) : "answered");
  if (!fault) return answer(asked, step, options.folder ?? "/workspace", bytes, response);
  if ("hang" in fault) return;
  if ("status" in fault)
    return json(
      response,
      fault.status,
      asked.words.error(fault.status, fault.message ?? "injected"),
      fault.headers,
    );
  return breakOff(asked, step, options.folder ?? "/workspace", fault, response);
}

function understand(path: string, body: Body): Asked | null {
  const gemini = /\/models\/([^:/]+):(stream)?generateContent$/i.exec(path);
  if (gemini)
    return {
      words: geminiWords,
      conversation: geminiConversation(body.contents ?? []),
      model: gemini[1] ?? "",
      isStream: gemini[2] !== undefined,
      tools: namesOf((body.tools ?? []).flatMap((tool: Body) => tool.functionDeclarations ?? [])),
    };
  const common = {
    model: String(body.model ?? ""),
    isStream: body.stream === true,
    tools: namesOf(body.tools),
  };
  if (path.endsWith("/v1/messages"))
    return { ...common, words: anthropicWords, conversation: anthropicConversation(body.messages ?? []) };
  if (path.endsWith("/responses")) {
    const input = body.input ?? [];
    // Codex tells its tools in a message of their own, sorted into namespaces.
    const more = Array.isArray(input) ? input.flatMap((item: Body) => item.tools ?? []) : [];
    const tools = [...common.tools, ...namesOf(more.flatMap((tool: Body) => tool.tools ?? [tool]))];
    return { ...common, tools, words: responsesWords, conversation: openaiConversation(input) };
  }
  if (path.endsWith("/chat/completions"))
    return { ...common, words: chatWords, conversation: openaiConversation(body.messages ?? []) };
  return null;
}

function namesOf(tools: Body): string[] {
  return Array.isArray(tools)
    ? tools.map((tool: Body) => String(tool.name ?? tool.function?.name ?? tool.type ?? ""))
    : [];
}

function keyOf({ headers }: IncomingMessage): string | null {
  const plain = headers["x-api-key"] ?? headers["x-goog-api-key"];
  if (typeof plain === "string") return plain;
  return headers.authorization?.replace(/^Bearer /, "") ?? null;
}

function faultNow({ failures }: Deps, { storyId, round, turn, step: { fault } }: Chosen): Fault | null {
  if (!fault) return null;
  const place = `${storyId}/${round}/${turn}`;
  const before = failures.get(place) ?? 0;
  if (fault.times !== undefined && before >= fault.times) return null;
  failures.set(place, before + 1);
  return fault;
}

async function answer(
  asked: Asked,
  step: Step,
  folder: string,
  bytes: number,
  response: ServerResponse,
): Promise<void> {
  const said = answerOf(asked, step, folder, bytes);
  if (!asked.isStream) return json(response, 200, asked.words.whole(said));
  beginStream(response);
  for (const piece of asked.words.pieces(said)) await send(response, piece);
  response.end();
}

/** A part of an answer, then the end of the connection or an error in its midst. */
async function breakOff(
  asked: Asked,
  step: Step,
  folder: string,
  fault: Extract<Fault, { readonly cut: string } | { readonly streamError: string }>,
  response: ServerResponse,
): Promise<void> {
  if (!asked.isStream || ("cut" in fault && fault.cut === "before")) {
    response.destroy();
    return;
  }
  const pieces = [
    ...asked.words.pieces(
      answerOf(
        asked,
        { text: "I begin, and I would say much more about it, had I not been cut off", ...step },
        folder,
        0,
      ),
    ),
  ];
  beginStream(response);
  const isMidway = "cut" in fault && fault.cut === "midway";
  const count = isMidway ? Math.ceil(pieces.length / 2) : Math.max(1, pieces.length - 2);
  for (const piece of pieces.slice(0, count)) await send(response, piece);
  if ("cut" in fault) {
    response.destroy();
    return;
  }
  await send(response, asked.words.streamError(fault.streamError));
  response.end();
}

function answerOf({ model, tools }: Asked, step: Step, folder: string, bytes: number): Answer {
  const filler =
    step.characters === undefined ? "" : "All work and no play. ".repeat(step.characters / 22 + 1);
  const text = `${step.text ?? ""}${filler.slice(0, step.characters)}`;
  const calls = toolCallsOf(step, tools, folder);
  const usage = {
    inputTokens: Math.ceil(bytes / 4),
    outputTokens: Math.ceil((text.length + JSON.stringify(calls).length) / 4),
    ...step.usage,
  };
  const isSilent = text === "" && calls.length > 0;
  return {
    model,
    thinking: step.thinking,
    text: isSilent ? undefined : text,
    calls,
    stop: step.stop ?? "end",
    usage,
  };
}

function beginStream(response: ServerResponse): void {
  response.writeHead(200, {
    "content-type": "text/event-stream; charset=utf-8",
    "cache-control": "no-cache",
  });
}

async function send(response: ServerResponse, { event, data }: Piece): Promise<void> {
  const line = `${event === undefined ? "" : `event: ${event}\n`}data: ${typeof data === "string" ? data : JSON.stringify(data)}\n\n`;
  // It is out once this is called back, with an error too: who has hung up reads no more.
  await new Promise<void>((resolve) => response.write(line, () => resolve()));
}

/** What agents ask besides: which models there are, how long a text is, whether anybody is there. */
function answerAside(path: string, response: ServerResponse): void {
  const unknown = { error: { type: "not_found_error", message: `no ${path} here` } };
  if (path.endsWith("/count_tokens")) json(response, 200, { input_tokens: 1000 });
  else if (path.endsWith(":countTokens")) json(response, 200, { totalTokens: 1000 });
  else if (path.endsWith("/models")) json(response, 200, { object: "list", data: [], models: [] });
  else json(response, 404, unknown);
}

function json(
  response: ServerResponse,
  status: number,
  body: unknown,
  headers: Readonly<Record<string, string>> = {},
): void {
  response.writeHead(status, { "content-type": "application/json", ...headers });
  response.end(JSON.stringify(body));
}

async function readBody(request: IncomingMessage): Promise<{ readonly body: Body; readonly bytes: number }> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk);
  const raw = Buffer.concat(chunks);
  const plain = request.headers["content-encoding"] === "zstd" ? zstdDecompressSync(raw) : raw;
  try {
    return { body: JSON.parse(plain.toString()), bytes: plain.length };
  } catch {
    // What is no JSON is none of the four APIs.
    return { body: null, bytes: plain.length };
  }
}

if (import.meta.main) {
  const { values } = parseArgs({
    options: {
      port: { type: "string", default: "8801" },
      scenarios: { type: "string" },
      host: { type: "string" },
      folder: { type: "string" },
      key: { type: "string" },
      log: { type: "string" },
    },
  });
  const { port, scenarios, ...rest } = values;
  const read: Scenarios = scenarios === undefined ? {} : JSON.parse(readFileSync(scenarios, "utf8"));
  const api = await startModelApi({ ...rest, port: Number(port), scenarios: read });
  process.stdout.write(`listening on ${api.port}\n`);
}
