import { beforeAll, expect, inject, test } from "vitest";
import type { AcpMessage } from "../../src/contract/acp.ts";
import { openEngine } from "../fakes/engine/engine-at.ts";
import { eventually } from "../fakes/eventually.ts";
import { fetchBundle, scripted, startWorker, story, type Worker } from "../fakes/swarm/worker.ts";
import type { Scenarios, Step } from "../stand-ins/scenarios.ts";
import { ensureAgentImage } from "./image.ts";
import { standInEnv, standInFiles, startStandIn } from "./stand-in.ts";

const engine = openEngine(inject("endpoint"));

beforeAll(async () => {
  await ensureAgentImage({ endpoint: inject("endpoint"), stateFolder: inject("stateFolder") });
});

const agent = { kind: "claude", env: standInEnv["claude"] ?? {} };
const endless = "test -e /tmp/begun || { touch /tmp/begun; tail -f /dev/null; }";
const written: Step = { write: { path: "a.txt", content: "a\n" } };
/** A tool that hangs the first time, or a model call; then the story goes on. */
const inTool: Scenarios = {
  "US-001": [written, { run: endless }, { write: { path: "b.txt", content: "b\n" } }, { text: "Done." }],
};
const inModelCall: Scenarios = {
  "US-001": [written, { fault: { hang: true, times: 1 }, text: "On." }, { text: "Done." }],
};

const killAgent = ["pkill", "-KILL", "-x", "claude"];
const killSupervisor = ["pkill", "-KILL", "-f", "adapter.mjs supervise"];

/** The moment at which something is to break: seen in the container or at the model. */
async function begun(
  worker: Worker,
  isInTool: boolean,
  asked: () => Promise<readonly { readonly outcome: string }[]>,
): Promise<void> {
  const isBegun = async () =>
    isInTool ? (await worker.run(["test", "-e", "/tmp/begun"])).code === 0 : (await asked()).length >= 2;
  await eventually("the agent is at work", async () => ((await isBegun()) ? true : null), 60_000);
}

test.for<[string, Scenarios]>([
  ["in a tool", inTool],
  ["in a model call", inModelCall],
])("Claude Code that is killed %s goes on in the same conversation", async ([where, scenarios]) => {
  await using worker = await startWorker(engine, {
    files: standInFiles(scenarios),
    limits: { memoryBytes: 2 * 1024 ** 3 },
  });
  await using standIn = await startStandIn(worker.containers, worker.id);
  await using line = await worker.attach();
  await line.send("task-request", scripted(worker, {}, { stories: [story("US-001")], agent }));

  await begun(worker, where === "in a tool", () => standIn.requests());
  const before = (await standIn.requests()).at(-1)?.messages ?? 0;
  await worker.run(killAgent);
  const { payload, seq } = await line.untilType("completion");
  const after = (await standIn.requests()).map(({ messages }) => messages);
  const left = await worker.run(["pgrep", "-u", "1000"]);
  await line.send("ack", { seq });

  expect(payload).toMatchObject({ status: "completed" });
  // What was said before the kill was said to the model again, in one conversation.
  expect(Math.max(...after)).toBeGreaterThan(before);
  expect(after.slice(1).every((messages) => messages > 1)).toBe(true);
  expect(left.text).toBe("");
});

test("Claude Code whose supervisor is killed goes on in the same conversation after the restart", async () => {
  await using worker = await startWorker(engine, {
    files: standInFiles(inTool),
    limits: { memoryBytes: 2 * 1024 ** 3 },
  });
  const seen: AcpMessage[] = [];
  {
    await using standIn = await startStandIn(worker.containers, worker.id);
    await using line = await worker.attach();
    await line.send("task-request", scripted(worker, {}, { stories: [story("US-001")], agent }));
    await begun(worker, true, () => standIn.requests());
    await worker.run(killSupervisor);
    await line.closed;
    seen.push(...line.messages);
  }
  expect(await worker.ended()).toBe(137);
  await worker.start();
  await worker.run(["touch", "/tmp/begun"]);

  await using standIn = await startStandIn(worker.containers, worker.id);
  const lastSeq = Math.max(0, ...seen.flatMap((message) => ("seq" in message ? [message.seq ?? 0] : [])));
  await using line = await worker.attach(lastSeq);
  await line.send("task-request", scripted(worker, {}, { stories: [story("US-001")], agent }));
  const { payload, seq } = await line.untilType("completion");
  const requests = await standIn.requests();
  const bundle = await worker.read(payload.bundle ?? "");
  await line.send("ack", { seq });

  expect(payload).toMatchObject({ status: "completed" });
  expect(fetchBundle(worker.repository, bundle, "refs/heads/feat/work")).toBe(payload.head);
  expect(requests[0]?.messages).toBeGreaterThan(1);
  const seqs = [...seen, ...line.messages].flatMap((message) => ("seq" in message ? [message.seq] : []));
  expect(seqs).toEqual(seqs.map((_seq, index) => index + 1));
});
