import { spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, expect, inject } from "vitest";
import { baseImage } from "../../src/domain/base-image.ts";
import type { SwarmState } from "../../src/domain/swarm-state.ts";
import { defaultLimits, defaultTmpBytes } from "../../src/sandbox/sandbox-defaults.ts";
import { dockerAt, openEngine } from "../fakes/engine-at.ts";
import { eventually } from "../fakes/eventually.ts";
import { writeTask } from "../fakes/folders.ts";
import { git } from "../fakes/repository.ts";
import { swarm, swarmProgram } from "../fakes/swarm-command.ts";
import { leftOnEngine, swarmEnv, test } from "../fakes/swarms.ts";
import { storyWith, taskFileWith } from "../fakes/task-files.ts";
import { testLabel } from "../fakes/test-label.ts";
import type { Scenarios, Step } from "../stand-ins/scenarios.ts";
import { ensureAgentImage } from "./image.ts";
import { runIn, type StandIn, standInAt, standInFiles, startStandIn } from "./stand-in.ts";

const endpoint = inject("endpoint");
const docker = dockerAt(endpoint);
const { containers, networks } = await openEngine(endpoint).open();

/** Where the stand-in of the model's API lives; its network leads nowhere else. */
const name = `aimi-test-${randomBytes(6).toString("hex")}`;
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
};
const tasks: readonly { slug: string; stories: readonly string[]; dependsOn?: string }[] = [
  { slug: "plain", stories: ["US-001", "US-002"] },
  { slug: "killed", stories: ["US-003"] },
  { slug: "slow", stories: ["US-004"] },
  { slug: "later", stories: ["US-005"], dependsOn: "slow" },
];

const fileOf = (slug: string): string => `2026-01-02-${slug}-tasks.json`;

async function serveModel(): Promise<StandIn> {
  await using undo = new AsyncDisposableStack();
  await networks.create({ name, labels: { [testLabel]: "agents" }, internal: true, subnet: null });
  undo.defer(() => networks.remove(name));
  const { id } = await containers.create({
    ...{ name, labels: { [testLabel]: "agents" }, image: baseImage, command: ["sleep", "infinity"], env: {} },
    ...{ user: "0:0", workdir: "/", runtime: "runc", network: { kind: "named", name }, capabilities: [] },
    ...{
      limits: defaultLimits,
      readOnlyRoot: false,
      privileged: false,
      tmpBytes: defaultTmpBytes,
      volumes: [],
    },
  });
  undo.defer(() => containers.remove(name));
  await containers.copyIn(id, "/", standInFiles(scenarios));
  await containers.start(id);
  const standIn = undo.use(await startStandIn(containers, id, { host: "0.0.0.0" }));
  const all = undo.move();
  return { requests: () => standIn.requests(), [Symbol.asyncDispose]: () => all.disposeAsync() };
}

/** The container of a worker, once its agent is at work in its tool. */
async function atWork(slug: string): Promise<string> {
  const look = async (): Promise<string | null> => {
    const [found] = await docker.listContainers({ filters: { name: [`-${slug}$`] } });
    const isAtWork =
      found && (await runIn(containers, found.Id, { command: ["test", "-e", "/tmp/begun"] })).code === 0;
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

test("a swarm of Claude Code whose agent is killed, and then its owner, comes to its end, and the key is in the agents alone", async ({
  place,
}) => {
  const { repository, folder } = place;
  await using model = await serveModel();
  const env = {
    ...swarmEnv(place),
    ...{ ANTHROPIC_API_KEY: key, ANTHROPIC_BASE_URL: standInAt(name), ANTHROPIC_AUTH_TOKEN: "" },
    ...{ GITHUB_TOKEN: `never-${key}`, SWARM_NETWORK: name },
  };
  for (const { slug, stories, dependsOn } of tasks)
    writeTask(
      repository,
      fileOf(slug),
      taskFileWith({
        metadata: { branchName: `feat/${slug}`, ...(dependsOn && { dependsOn: [fileOf(dependsOn)] }) },
        stories: stories.map((id) => storyWith({ id, title: `Carry out ${id}` })),
      }),
    );

  const nowhere = await swarm({ folder: repository, env }, "start", "--all", "--network", `${name}-x`);
  expect(nowhere).toMatchObject({ exit: 2, stderr: expect.stringContaining(`bridge, ${name}.`) });
  expect(existsSync(join(repository, ".aimi", "swarm-state.json"))).toBe(false);

  const owner = spawn(swarmProgram, ["start", "--all", "--parallel", "3"], {
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
  });
  const subjects = (branch: string): string[] =>
    git(repository, "log", "--reverse", "--format=%s", `main..${branch}`).trim().split("\n");
  const files = (branch: string): string => git(repository, "diff", "--name-only", "main", branch);
  expect(tasks.map(({ slug }) => [subjects(`feat/${slug}`), files(`feat/${slug}`)])).toEqual([
    [["Carry out US-001", "Carry out US-002"], "one.txt\ntwo.txt\n"],
    [["Carry out US-003"], "three-more.txt\nthree.txt\n"],
    [["Carry out US-004"], "four.txt\n"],
    [["Carry out US-004", "Write five"], "five.txt\nfour.txt\n"],
  ]);

  // Whoever goes on with a conversation sends what was said before.
  const asked = (await model.requests()).filter(({ storyId }) => storyId !== null);
  const begun = asked.filter(({ messages }) => messages === Math.min(...asked.map((each) => each.messages)));
  expect(begun.map(({ storyId }) => storyId).sort()).toEqual(Object.keys(scenarios));

  expect(new Set(asked.map((request) => request.key))).toEqual(new Set([key]));
  expect(seen).toEqual({ inspected: false, asRoot: "", asAgent: expect.any(Array) });
  expect(seen.asAgent.filter((file) => !/^\/proc\/\d+\/environ$/.test(file))).toEqual([]);
  expect(filesWith(folder, key)).toEqual([]);
  expect(filesWith(folder, state.swarmId)).not.toEqual([]);
  expect([stdout, stderr, Buffer.concat(await said).toString()].join().includes(key)).toBe(false);
  expect(stderr).toContain("NOT filtered");
  expect(await leftOnEngine(place)).toEqual([]);
});
