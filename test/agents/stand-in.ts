import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { packFiles } from "../../src/archive/pack-files.ts";
import type { Containers } from "../../src/engine/containers.ts";
import type { SeenRequest } from "../stand-ins/model-api.ts";
import type { Scenarios } from "../stand-ins/scenarios.ts";

const sources = fileURLToPath(new URL("../stand-ins", import.meta.url));
const folder = "/opt/stand-ins";
const port = 8801;
const root = { uid: 0, gid: 0, mode: 0o644 };

/** What agents need to find the stand-in on the loopback of a container without a network; the keys are none. */
export const standInEnv: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  claude: {
    ANTHROPIC_BASE_URL: `http://127.0.0.1:${port}`,
    ANTHROPIC_API_KEY: "stand-in",
    CLAUDE_CODE_MAX_RETRIES: "2",
  },
  gemini: {
    GOOGLE_GEMINI_BASE_URL: `http://127.0.0.1:${port}`,
    GEMINI_API_KEY: "stand-in",
    GEMINI_CLI_TRUST_WORKSPACE: "true",
  },
};

/** The models' stand-in with its scenarios, to be unpacked at the root of a container. */
export function standInFiles(scenarios: Scenarios): AsyncIterable<Uint8Array> {
  return packFiles([
    { ...root, kind: "folder", path: folder.slice(1), mode: 0o755 },
    ...readdirSync(sources).map((name) => ({
      ...root,
      kind: "file" as const,
      path: join(folder, name).slice(1),
      content: readFileSync(join(sources, name)),
    })),
    {
      ...root,
      kind: "file",
      path: `${folder.slice(1)}/scenarios.json`,
      content: Buffer.from(JSON.stringify(scenarios)),
    },
  ]);
}

export interface StandIn extends AsyncDisposable {
  /** What it was asked so far. */
  requests(): Promise<SeenRequest[]>;
}

/** Starts it as root in a running container, where no agent can end it; seen from elsewhere where the host says so. */
export async function startStandIn(
  containers: Containers,
  id: string,
  { host = "127.0.0.1" }: { readonly host?: string } = {},
): Promise<StandIn> {
  const program = ["/opt/aimi/node", `${folder}/model-api.ts`, "--host", host, "--port", String(port)];
  const execution = await containers.exec(id, {
    command: [...program, "--scenarios", `${folder}/scenarios.json`],
    user: "0:0",
    input: false,
  });
  const output = execution.output[Symbol.asyncIterator]();
  const first = await output.next();
  const said = first.done ? "nothing" : Buffer.from(first.value.bytes).toString();
  if (!said.startsWith("listening")) throw new Error(`the stand-in does not listen: ${said}`);
  return {
    async requests() {
      const url = `http://127.0.0.1:${port}/stand-in/requests`;
      const { code, text } = await runIn(containers, id, { command: ["curl", "-s", url], asRoot: true });
      if (code !== 0) throw new Error(`the stand-in does not answer: ${code}`);
      return JSON.parse(text);
    },
    [Symbol.asyncDispose]: () => execution[Symbol.asyncDispose](),
  };
}

export interface RunIn {
  readonly command: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  readonly input?: string;
  /** Where a supervisor is at work, it ends whatever the agent's user runs between two turns. */
  readonly asRoot?: boolean;
}

/** Runs a program as the agent's user, in the work folder, and gives what it wrote on both its outputs. */
export async function runIn(
  containers: Containers,
  id: string,
  { command, env = {}, input, asRoot = false }: RunIn,
): Promise<{ readonly code: number; readonly text: string }> {
  await using execution = await containers.exec(id, {
    command,
    env: { HOME: "/home/agent", ...env },
    user: asRoot ? "0:0" : "1000:1000",
    workdir: "/workspace",
    input: input !== undefined,
  });
  if (input !== undefined) {
    await execution.write(Buffer.from(input));
    await execution.endInput();
  }
  const chunks: Uint8Array[] = [];
  for await (const { bytes } of execution.output) chunks.push(bytes);
  const exit = await execution.exit();
  return { code: exit.kind === "exited" ? exit.code : -1, text: Buffer.concat(chunks).toString() };
}
