import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { agentPackages } from "../../src/engine/rules/base-image.ts";
import type { SeenRequest } from "../stand-ins/model-api.ts";
import type { Scenarios } from "../stand-ins/scenarios.ts";

const root = fileURLToPath(new URL("../..", import.meta.url));
const cache = join(root, "node_modules/.cache/claude-code");
const standIn = join(root, "test/stand-ins/model-api.ts");
const port = 8801;

/** The folder with the real `claude`, for this machine itself; from npm, once. */
export async function claudeHere(): Promise<string> {
  const [, version = ""] = /@([\d.]+)$/.exec(agentPackages["claude"] ?? "") ?? [];
  const folder = join(cache, version);
  const packageName = `@anthropic-ai/claude-code-linux-${process.arch}`;
  const program = join(folder, "node_modules", packageName, "claude");
  if (!existsSync(program)) {
    mkdirSync(folder, { recursive: true });
    writeFileSync(join(folder, "package.json"), "{}");
    const flags = ["--no-audit", "--no-fund", "--ignore-scripts", "--no-save"];
    await promisify(execFile)("npm", ["install", ...flags, `${packageName}@${version}`], { cwd: folder });
  }
  return join(program, "..");
}

/** What Claude Code says on its standard output, as far as a test asks. */
export interface ClaudeLine {
  readonly type: string;
  readonly subtype?: string;
  readonly permissionMode?: string;
  readonly permission_denials?: readonly unknown[];
  readonly result?: string;
  readonly slash_commands?: readonly string[];
  readonly message?: { readonly content: unknown };
  readonly tool_use_result?: { readonly stdout: string; readonly stderr: string } | string;
  readonly tool_result_meta?: readonly { readonly permission_decision: { readonly source: string } }[];
}

export interface ClaudeSession extends AsyncDisposable {
  /** The lines up to the next one like this. */
  until(isLast: (line: ClaudeLine) => boolean): Promise<ClaudeLine[]>;
  say(text: string): void;
  /** What the model was asked so far. */
  requests(): SeenRequest[];
}

export interface ClaudePlace {
  /** The project. */
  readonly repository: string;
  /** Somebody's home. */
  readonly folder: string;
}

/**
 * A session of the real Claude Code without anybody before it, its permissions as they are by default, with the stand-in of its
 * model. In a network of their own, where nothing else answers.
 */
export async function claudeSession(
  { repository, folder }: ClaudePlace,
  { scenarios, env, flags }: { scenarios: Scenarios; env: Record<string, string>; flags: readonly string[] },
): Promise<ClaudeSession> {
  const [scenarioFile, log] = [join(folder, "scenarios.json"), join(folder, "requests.ndjson")];
  writeFileSync(scenarioFile, JSON.stringify(scenarios));
  writeFileSync(log, "");
  const model = [
    process.execPath,
    standIn,
    "--port",
    String(port),
    "--scenarios",
    scenarioFile,
    "--log",
    log,
  ];
  const talk = ["-p", "--input-format", "stream-json", "--output-format", "stream-json", "--verbose"];
  const claude = [join(await claudeHere(), "claude"), ...talk, ...flags];
  const script = `ip link set lo up
    n=$1; shift; model=; i=0
    "\${@:1:$n}" >"$HOME/model.log" 2>&1 & model=$!
    until (exec 3<>/dev/tcp/127.0.0.1/${port}) 2>/dev/null; do kill -0 $model || exit 9; done
    shift "$n"; "$@"; end=$?; kill $model; exit $end`;
  const child = spawn(
    "unshare",
    ["--net", "bash", "-c", script, "bash", String(model.length), ...model, ...claude],
    {
      cwd: repository,
      stdio: ["pipe", "pipe", "pipe"],
      env: {
        // All of it: what certificates this machine needs is a part of the image.
        ...{ ...process.env, HOME: folder, TERM: "dumb", ...env },
        ...{ ANTHROPIC_BASE_URL: `http://127.0.0.1:${port}`, ANTHROPIC_API_KEY: "stand-in" },
        ...{ CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: "1", DISABLE_AUTOUPDATER: "1" },
        ...{ CLAUDE_CODE_MAX_RETRIES: "1" },
      },
    },
  );
  const errors = child.stderr.toArray();
  const lines = createInterface(child.stdout)[Symbol.asyncIterator]();
  return {
    async until(isLast) {
      const seen: ClaudeLine[] = [];
      for (;;) {
        const { value, done } = await lines.next();
        if (done)
          throw new Error(`Claude ended: ${Buffer.concat(await errors)}\n${JSON.stringify(seen.slice(-3))}`);
        const line = JSON.parse(String(value)) as ClaudeLine;
        seen.push(line);
        if (isLast(line)) return seen;
      }
    },
    say(text) {
      const message = { role: "user", content: [{ type: "text", text }] };
      child.stdin.write(`${JSON.stringify({ type: "user", message, parent_tool_use_id: null })}\n`);
    },
    requests: () =>
      readFileSync(log, "utf8")
        .split("\n")
        .filter(Boolean)
        .map((line) => JSON.parse(line) as SeenRequest),
    async [Symbol.asyncDispose]() {
      const ended = child.exitCode === null ? once(child, "exit") : null;
      child.stdin.end();
      await ended;
    },
  };
}
