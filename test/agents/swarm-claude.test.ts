import { spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, expect, inject } from "vitest";
import type { Notice } from "../../src/contract/notice.ts";
import type { AgentChoice } from "../../src/contract/tasks.ts";
import { findSchemaViolations } from "../../src/schema/find-violations.ts";
import type { SwarmState } from "../../src/state/rules/swarm-state.ts";
import { swarm, swarmProgram } from "../fakes/cli/swarm-command.ts";
import { dockerAt, openEngine } from "../fakes/engine/engine-at.ts";
import { eventually } from "../fakes/eventually.ts";
import { writeTask } from "../fakes/folders.ts";
import { git } from "../fakes/git/repository.ts";
import { leftOnEngine, swarmEnv, test } from "../fakes/swarm/swarms.ts";
import { storyWith, taskFileWith } from "../fakes/tasks/task-files.ts";
import { type ModelApi, startModelApi } from "../stand-ins/model-api.ts";
import type { Scenarios, Step } from "../stand-ins/scenarios.ts";
import { ensureAgentImage } from "./image.ts";
import { runIn } from "./stand-in.ts";

const endpoint = inject("endpoint");
const docker = dockerAt(endpoint);
const { containers } = await openEngine(endpoint).open();

const key = `sk-test-${randomBytes(24).toString("hex")}`;

beforeAll(async () => {
  await ensureAgentImage({ endpoint, stateFolder: inject("stateFolder") });
});

const writes = (file: string): Step => ({ write: { path: `${file}.txt`, content: `${file}\n` } });
const done: Step = { text: "Done." };
/** Hangs the first time, for a test to see it. */
const hangs: Step = { run: "test -e /tmp/begun || { touch /tmp/begun; tail -f /dev/null; }" };
/** Goes on when a test says so. */
const waits: Step = { run: "touch /tmp/begun; until test -e /tmp/go; do sleep 0.1; done" };

const scenarios: Scenarios = {
  "US-001": [writes("one"), done],
  "US-002": [writes("two"), done],
  "US-003": [writes("three"), hangs, writes("three-more"), done],
  "US-004": [writes("four"), waits, done],
  "US-005": [writes("five"), { commit: "Write five" }, done],
  "US-006": [writes("six"), done],
};

const faults: Scenarios = {
  "US-001": [
    writes("one"),
    { fault: { status: 429, headers: { "retry-after": "1" }, times: 1 }, text: "Done." },
  ],
  "US-002": [{ fault: { status: 529, times: 2 }, ...writes("two") }, done],
  "US-003": [{ fault: { streamError: "Overloaded" }, text: "I write." }, writes("three"), done],
  "US-004": [writes("four"), { fault: { cut: "midway", times: 1 }, text: "Done." }],
  "US-005": [{ fault: { status: 403 } }],
  "US-006": [{ fault: { status: 401 } }],
};
interface Task {
  readonly slug: string;
  readonly stories: readonly string[];
  readonly dependsOn?: string;
  readonly agent?: AgentChoice;
}

const gemini: AgentChoice = { kind: "acp", command: ["gemini", "--acp"], model: "gemini-2.5-flash" };

const tasks: readonly Task[] = [
  { slug: "plain", stories: ["US-001", "US-002"] },
  { slug: "killed", stories: ["US-003"] },
  { slug: "slow", stories: ["US-004"] },
  { slug: "later", stories: ["US-005"], dependsOn: "slow" },
  { slug: "other", stories: ["US-006"], agent: gemini },
];

const fileOf = (slug: string): string => `2026-01-02-${slug}-tasks.json`;

/** The stand-in of the model's API, at an address that containers with a way out reach. */
async function serveModel(scenariosOf = scenarios): Promise<ModelApi & { readonly url: string }> {
  const api = await startModelApi({ scenarios: scenariosOf, host: "0.0.0.0", key });
  const { IPAM } = await docker.getNetwork("bridge").inspect();
  return Object.assign(api, { url: `http://${IPAM?.Config?.[0]?.Gateway}:${api.port}` });
}

/** The container of a worker, once its agent is at work in its tool. */
async function atWork(slug: string): Promise<string> {
  const look = async (): Promise<string | null> => {
    const [found] = await docker.listContainers({ filters: { name: [`-${slug}$`] } });
    const isAtWork =
      found?.State === "running" &&
      (await runIn(containers, found.Id, { command: ["test", "-e", "/tmp/begun"] })).code === 0;
    return isAtWork ? found.Id : null;
  };
  return eventually(`the agent of ${slug} is at work`, look, 60_000);
}

/** Which files below a folder have a text in them. */
function filesWith(folder: string, text: string): string[] {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))
    .filter((file) => readFileSync(file).includes(text));
}

/** Where a worker's key can be found by whoever has the engine, and by root and the agent in its container. */
async function placesOfKey(id: string) {
  const inspected = await docker.getContainer(id).inspect();
  // Neither sees the other's: root has no right on the agent's processes.
  const look = 'grep -rlF -- "$1" /aimi /tmp /workspace /home/agent /proc/[0-9]*/environ 2>/dev/null; :';
  const command = ["sh", "-c", look, "sh", key];
  const [root, agent] = [
    await runIn(containers, id, { command, asRoot: true }),
    await runIn(containers, id, { command }),
  ];
  return {
    inspected: JSON.stringify(inspected).includes(key),
    asRoot: root.text.trim(),
    asAgent: agent.text.trim().split("\n"),
  };
}

test("a swarm of Claude Code whose agent is killed, and then its owner, comes to its end, and the key is nowhere but in its gateway", async ({
  place,
}) => {
  const { repository, folder } = place;
  await using model = await serveModel();
  const env = {
    ...swarmEnv(place),
    ...{ ANTHROPIC_API_KEY: key, ANTHROPIC_BASE_URL: model.url },
    ...{ GITHUB_TOKEN: `never-${key}`, GEMINI_API_KEY: key, GOOGLE_GEMINI_BASE_URL: model.url },
  };
  for (const { slug, stories, dependsOn, agent } of tasks)
    writeTask(
      repository,
      fileOf(slug),
      taskFileWith({
        metadata: {
          branchName: `feat/${slug}`,
          ...(dependsOn && { dependsOn: [fileOf(dependsOn)] }),
          ...(agent && { agent }),
        },
        stories: stories.map((id) => storyWith({ id, title: `Carry out ${id}` })),
      }),
    );

  const owner = spawn(swarmProgram, ["start", "--all", "--parallel", "4"], {
    cwd: repository,
    env: { ...process.env, ...env },
    stdio: ["ignore", "ignore", "pipe"],
  });
  const said = owner.stderr.toArray();
  const killed = await atWork("killed");
  expect(
    (await runIn(containers, killed, { command: ["pkill", "-KILL", "-x", "claude"], asRoot: true })).code,
  ).toBe(0);
  const slow = await atWork("slow");
  const seen = await placesOfKey(slow);
  owner.kill("SIGKILL");
  await once(owner, "exit");
  await runIn(containers, slow, { command: ["touch", "/tmp/go"] });

  const { exit, stdout, stderr } = await swarm({ folder: repository, env }, "resume", "--json");

  expect(exit, Buffer.concat(await said).toString() + stderr).toBe(0);
  const { swarm: state }: { swarm: SwarmState } = JSON.parse(stdout);
  expect(
    Object.fromEntries(
      state.containers.map(({ branchName, status, stories, branch, usage }) => [
        branchName,
        [status, stories.map((story) => `${story.id} ${story.status}`).join(), branch?.done, usage !== null],
      ]),
    ),
  ).toEqual({
    "feat/plain": ["completed", "US-001 completed,US-002 completed", true, true],
    "feat/killed": ["completed", "US-003 completed", true, true],
    "feat/slow": ["completed", "US-004 completed", true, true],
    "feat/later": ["completed", "US-005 completed", true, true],
    "feat/other": ["completed", "US-006 completed", true, true],
  });
  const subjects = (branch: string): string[] =>
    git(repository, "log", "--reverse", "--format=%s", `main..${branch}`).trim().split("\n");
  const files = (branch: string): string => git(repository, "diff", "--name-only", "main", branch);
  expect(tasks.map(({ slug }) => [subjects(`feat/${slug}`), files(`feat/${slug}`)])).toEqual([
    [["Carry out US-001", "Carry out US-002"], "one.txt\ntwo.txt\n"],
    [["Carry out US-003"], "three-more.txt\nthree.txt\n"],
    [["Carry out US-004"], "four.txt\n"],
    [["Carry out US-004", "Write five"], "five.txt\nfour.txt\n"],
    [["Carry out US-006"], "six.txt\n"],
  ]);

  // Whoever goes on with a conversation sends what was said before.
  const asked = model.requests.filter(({ storyId }) => storyId !== null);
  const begun = asked.filter(({ messages }) => messages === Math.min(...asked.map((each) => each.messages)));
  expect(begun.map(({ storyId }) => storyId).sort()).toEqual(Object.keys(scenarios));

  expect(new Set(asked.map((request) => request.key))).toEqual(new Set([key]));
  expect(seen).toEqual({ inspected: false, asRoot: "", asAgent: [""] });
  expect(filesWith(folder, key)).toEqual([]);
  expect(filesWith(folder, state.swarmId)).not.toEqual([]);
  expect([stdout, stderr, Buffer.concat(await said).toString()].join().includes(key)).toBe(false);
  expect(stderr).toContain("with ANTHROPIC_API_KEY, which stays outside its sandbox");
  expect(await leftOnEngine(place)).toEqual([]);
});

test("what the model's API answers comes to the agents as it is: they go on, or fail at once", async ({
  place,
}) => {
  await using model = await serveModel(faults);
  const ids = Object.keys(faults);
  for (const id of ids)
    writeTask(
      place.repository,
      fileOf(id.toLowerCase()),
      taskFileWith({
        metadata: { branchName: `feat/${id}` },
        stories: [storyWith({ id, title: `Carry out ${id}` })],
      }),
    );
  const env = { ...swarmEnv(place), ANTHROPIC_API_KEY: key, ANTHROPIC_BASE_URL: model.url };
  const at = { folder: place.repository, env };
  const told = join(place.folder, "told");

  const { exit, stdout, stderr } = await swarm(
    at,
    ...["start", "--all", "--json", "--parallel", "3"],
    ...["--notify", `cat >> ${told}`],
  );

  expect(exit, stderr).toBe(5);
  const notices = readFileSync(told, "utf8")
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line) as Notice);
  for (const notice of notices) expect(await findSchemaViolations("notice", notice)).toEqual([]);
  // A person hears of a key that is refused while the others go on.
  expect(notices.map(({ event }) => event)).toEqual(["needs-you", "needs-you", "ended"]);
  expect(
    notices.slice(0, 2).map(({ text }) => /AGENT_AUTH_FAILED/.test(text)),
    JSON.stringify(notices),
  ).toEqual([true, true]);
  const { swarm: state }: { swarm: SwarmState } = JSON.parse(stdout);
  expect(
    Object.fromEntries(
      state.containers.map(({ branchName, status, reason }) => [branchName, reason?.code ?? status]),
    ),
  ).toEqual({
    "feat/US-001": "completed",
    "feat/US-002": "completed",
    "feat/US-003": "completed",
    "feat/US-004": "completed",
    "feat/US-005": "AGENT_AUTH_FAILED",
    "feat/US-006": "AGENT_AUTH_FAILED",
  });
  const asked = (id: string): number => model.requests.filter(({ storyId }) => storyId === id).length;
  // Asked again, a key that is refused is refused again.
  expect([asked("US-005"), asked("US-006")]).toEqual([1, 1]);
});

test("a result that no fresh sandbox confirms goes back to the same conversation, and is right after that", async ({
  place,
}) => {
  const { repository } = place;
  await using model = await serveModel({
    "US-001": {
      rounds: [
        // It shows only where the agent was.
        [{ run: "echo yes > ~/answer" }, writes("one"), done],
        [{ write: { path: "answer.txt", content: "yes\n" } }, done],
      ],
    },
  });
  const verify = ["grep -q yes ~/answer answer.txt 2>/dev/null"];
  writeTask(
    repository,
    fileOf("answer"),
    taskFileWith({ metadata: { branchName: "feat/answer" }, stories: [storyWith({ verify })] }),
  );
  const env = { ...swarmEnv(place), ANTHROPIC_API_KEY: key, ANTHROPIC_BASE_URL: model.url };
  const at = { folder: repository, env };

  const first = await swarm(at, "start", "--all", "--prove", "--json");
  const asked = model.requests.filter(({ storyId }) => storyId !== null).length;
  const larger = ["--escalate", "model=claude-haiku-4-5"];
  const second = await swarm(at, "retry", "answer", "--onto", "main", "--json", ...larger);

  expect([first.exit, second.exit], first.stderr + second.stderr).toEqual([5, 0]);
  const [before] = (JSON.parse(first.stdout) as { swarm: SwarmState }).swarm.containers;
  expect(before).toMatchObject({ status: "failed", reason: { code: "PROOF_FAILED" }, branch: null });
  const [after] = (JSON.parse(second.stdout) as { swarm: SwarmState }).swarm.containers;
  expect(after).toMatchObject({
    ...{ status: "completed", attempt: 2, proof: { verdict: "proved" }, branch: { done: true } },
    earlier: [{ attempt: 1, code: "PROOF_FAILED" }],
  });
  expect(git(repository, "diff", "--name-only", "main", "feat/answer")).toBe("answer.txt\none.txt\n");
  // All that was said in the first attempt was there when the second one began.
  const [begun] = model.requests.filter(({ storyId, round }) => storyId === "US-001" && round === 1);
  expect(begun?.model).toBe("claude-haiku-4-5");
  expect(begun?.messages).toBeGreaterThan(
    Math.max(...model.requests.slice(0, asked).map(({ messages }) => messages)),
  );
});
