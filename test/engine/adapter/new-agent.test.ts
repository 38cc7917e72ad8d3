import { cpSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";
import { expect, inject } from "vitest";
import { packFiles } from "../../../src/archive/pack-files.ts";
import { openEngine } from "../../fakes/engine/engine-at.ts";
import { test } from "../../fakes/folders.ts";
import { scripted, startWorker } from "../../fakes/swarm/worker.ts";

const root = fileURLToPath(new URL("../../..", import.meta.url));
const engine = openEngine(inject("endpoint"));

/** A stand-in for the program, which is not in the image: it does what the message says. */
const program = `#!/bin/sh
[ "$1" = --version ] && { echo aider 1.2.3; exit; }
for message; do :; done
echo "litellm.AuthenticationError: $OPENAI_API_KEY key"; [ "$OPENAI_API_KEY" = right ] || exit 1
echo "Applied edit to made.txt"; echo "$message" | grep -o 'US-[0-9]*' | head -n 1 > made.txt
`;

test.for([
  ["right", "completed", 0],
  ["wrong", "AGENT_AUTH_FAILED", 2],
])(
  "an agent that is added as the page says carries out a story (key %s: %s)",
  async ([key, outcome, code], { folder }) => {
    const adapter = await withAgentOfThePage(folder);
    const own = { uid: 0, gid: 0 };
    await using worker = await startWorker(engine, {
      files: packFiles([
        { kind: "file", path: "opt/aimi/adapter.mjs", mode: 0o644, ...own, content: adapter },
        { kind: "file", path: "usr/local/bin/aider", mode: 0o755, ...own, content: Buffer.from(program) },
      ]),
    });
    await using line = await worker.attach();

    await line.send("credentials", { env: { OPENAI_API_KEY: key } });
    await line.send("task-request", scripted(worker, { "US-001": [] }, { agent: { kind: "aider" } }));
    const end = await line.until(({ type }) => type === "completion" || type === "error");
    await line.send("ack", { seq: "seq" in end ? end.seq : 0 });

    expect(JSON.stringify(end.payload)).toContain(outcome);
    expect(await worker.ended()).toBe(code);
  },
);

/** The adapter as it is with the page's text in its place. */
async function withAgentOfThePage(folder: string): Promise<Buffer> {
  for (const part of ["adapter", "src", "package.json"])
    cpSync(join(root, part), join(folder, part), { recursive: true });
  const page = readFileSync(join(root, "docs/extending.md"), "utf8");
  const [, text = ""] = /`aider\.ts` beside it:\n\n```ts\n([\s\S]*?)```/.exec(page) ?? [];
  mkdirSync(join(folder, "adapter/agents"), { recursive: true });
  writeFileSync(join(folder, "adapter/agents/aider.ts"), text);
  const list = join(folder, "adapter/agents/agent-kinds.ts");
  writeFileSync(
    list,
    `import { aiderAgent } from "./aider.ts";\n${readFileSync(list, "utf8").replace("[claudeAgent,", "[aiderAgent, claudeAgent,")}`,
  );
  const made = await build({
    ...{
      entryPoints: [join(folder, "adapter/main.ts")],
      bundle: true,
      format: "esm",
      platform: "node",
      write: false,
    },
  });
  return Buffer.from(made.outputFiles[0]?.contents ?? []);
}
