import { fileURLToPath } from "node:url";
import { describe, expect, test } from "vitest";
import { packFiles } from "../../../src/archive/pack-files.ts";
import type { TaskRequestPayload } from "../../../src/contract/acp.ts";
import type { TaskMetadata } from "../../../src/contract/tasks.ts";
import { baseImage, rootFilesystemImage } from "../../../src/engine/rules/base-image.ts";
import { agentAccess } from "../../../src/gateway/agent-access.ts";
import { agentNamesInImage, ensureBaseImage } from "../../../src/images/ensure-base-image.ts";
import { newSwarmState, recordWithStatus, stateWithNewRecord } from "../../../src/state/rules/swarm-state.ts";
import type { LoadedTask } from "../../../src/tasks/rules/plan.ts";
import { fakeEngine } from "../../fakes/engine/fake-engine.ts";
import { taskFileWith } from "../../fakes/tasks/task-files.ts";

const now = new Date(0);
const thisFile = fileURLToPath(import.meta.url);
const swarmId = "0b7e6a52-9d0f-4a3e-8b61-0d6f6e0a7c11";

function task(name: string, agent?: TaskMetadata["agent"], allow?: readonly string[]): LoadedTask {
  return {
    ...{ fileName: `${name}-tasks.json`, path: `.aimi/tasks/${name}-tasks.json`, sha256: name },
    taskFile: taskFileWith({ metadata: { ...(agent && { agent }), ...(allow && { allow: [...allow] }) } }),
  };
}

/** What agents may reach, with a key that must not be seen anywhere. */
function access({
  network = "bridge",
  env = { ANTHROPIC_API_KEY: "sesame" } as Readonly<Record<string, string>>,
  requests = {} as Readonly<Record<string, TaskRequestPayload["agent"]>>,
  tasks = [] as readonly LoadedTask[],
  allow = [] as readonly string[],
} = {}) {
  return agentAccess({
    settings: {
      ...{ agent: "claude", agentCommand: [], network, allow, modelEndpoints: [] },
      ...{ "credentials.anthropic": null, "credentials.openai": null, "credentials.google": null },
    },
    env,
    requestsOf: () => ({
      findRequest: async ({ slug, attempt }) => {
        const agent = requests[`${slug}-${attempt}`];
        return agent ? { ...{ taskFilePath: "", branchName: "b", repoUrl: "image:" }, agent } : null;
      },
    }),
    loadTask: async (path) => tasks.find((each) => each.path === path) ?? null,
  });
}

function stateWith(...names: readonly string[]) {
  return names.reduce(
    (state, name) =>
      stateWithNewRecord(
        state,
        {
          ...{ containerName: `aimi-111111-0b7e6a-${name}`, branchName: `feat/${name}` },
          ...{ taskFilePath: `.aimi/tasks/${name}-tasks.json` },
        },
        now,
      ),
    newSwarmState({ id: "1".repeat(32), slug: "p", root: "/p" }, swarmId, now),
  );
}

describe("before anything starts", () => {
  test("an agent that needs its model is refused without a network, and the flag is named", async () => {
    const { findAgentsToStart, refuse } = access({ network: "none" });

    const agents = await findAgentsToStart([{ task: task("a") }], null, []);

    expect(() => refuse(agents)).toThrow(
      expect.objectContaining({
        code: "AGENT_NEEDS_NETWORK",
        exitCode: 3,
        hint: expect.stringContaining("--network gateway"),
      }),
    );
  });

  test.each(["gateway", "bridge", "agents"])(
    "an agent that nothing lets in is refused on the network %s; its task file and the variables are named",
    async (network) => {
      const { findAgentsToStart, refuse } = access({ network, env: { GITHUB_TOKEN: "x" } });

      const agents = await findAgentsToStart([{ task: task("a") }], null, []);

      expect(() => refuse(agents)).toThrow(
        expect.objectContaining({
          ...{ code: "CREDENTIALS_MISSING", exitCode: 4 },
          details: expect.objectContaining({ agent: "claude", file: ".aimi/tasks/a-tasks.json" }),
          message: expect.stringMatching(
            /^\.aimi\/tasks\/a-tasks\.json .*ANTHROPIC_API_KEY, CLAUDE_CODE_OAUTH_TOKEN/,
          ),
          hint: expect.stringContaining("only the gateway receives the credential"),
        }),
      );
    },
  );

  test("an address that the gateway cannot call is refused, and without a gateway it is the agent's own matter", async () => {
    const env = { ANTHROPIC_API_KEY: "sesame", ANTHROPIC_BASE_URL: "http://localhost:4000" };
    const at = (network: string, own: Readonly<Record<string, string>>) => access({ network, env: own });
    const agents = await at("gateway", env).findAgentsToStart([{ task: task("a") }], null, []);

    expect(() => at("gateway", env).refuse(agents)).toThrow(
      expect.objectContaining({
        ...{ code: "INVALID_VALUE", exitCode: 2 },
        message: 'ANTHROPIC_BASE_URL cannot be "http://localhost:4000"',
        hint: expect.stringContaining("`localhost` means the container"),
      }),
    );
    const elsewhere = { ...env, ANTHROPIC_BASE_URL: "https://models.example" };
    expect(() => at("gateway", elsewhere).refuse(agents)).not.toThrow();
    expect(() => at("bridge", env).refuse(agents)).not.toThrow();
  });

  test("an agent that is let in by its own task file is refused by neither", async () => {
    const own = task("a", { kind: "claude", env: { ANTHROPIC_API_KEY: "of a trusted task file" } });

    for (const network of ["gateway", "bridge"]) {
      const { findAgentsToStart, refuse } = access({ network, env: {} });
      const agents = await findAgentsToStart([{ task: own }], null, []);
      expect(() => refuse(agents)).not.toThrow();
    }
  });

  test("agents that need neither are not asked", async () => {
    const { findAgentsToStart, refuse } = access({ network: "none", env: {} });

    const agents = await findAgentsToStart(
      [{ task: task("a", { kind: "script", script: "s.json" }) }],
      null,
      [],
    );

    expect(agents).toHaveLength(1);
    expect(() => refuse(agents)).not.toThrow();
  });

  test("what is said is what the gateway calls and lets out, or what is open and goes where", async () => {
    const works = [{ task: task("a", undefined, ["example.org:8443"]) }];
    const said = async (network: string) => {
      const { findAgentsToStart, describe: say } = access({ network, allow: ["pypi"] });
      return [say(await findAgentsToStart(works, null, [])), say([])];
    };

    const [byGateway, ofNobody] = await said("gateway");
    const [open, openToNobody] = await said("bridge");

    expect(byGateway).toEqual([
      expect.stringMatching(
        /^claude calls api\.anthropic\.com .* with ANTHROPIC_API_KEY, which stays outside/,
      ),
      expect.stringMatching(/the gateway allows: pypi \(packages of Python\), example\.org:8443$/),
    ]);
    expect(open).toEqual([
      expect.stringContaining("network bridge: NOT filtered"),
      expect.stringContaining("claude: ANTHROPIC_API_KEY goes into the agent's own environment"),
    ]);
    expect([ofNobody, openToNobody]).toEqual([[], []]);
    expect(JSON.stringify([byGateway, open])).not.toContain("sesame");
  });

  test("what goes on may reach what its task file allows now, whatever it was asked", async () => {
    const { findAgentsToStart } = access({
      requests: { "asked-1": { kind: "script" } },
      tasks: [task("asked", undefined, ["npm"])],
    });

    expect(await findAgentsToStart([], stateWith("asked", "gone"), [])).toEqual([
      { file: ".aimi/tasks/asked-tasks.json", agent: { kind: "script" }, allow: ["npm"] },
    ]);
  });

  test("what goes on counts as it was asked for, what ended does not, and what is tried again does", async () => {
    const open = stateWith("asked", "waiting", "ended", "failed");
    const containers = open.containers.map((record) => {
      const failed = recordWithStatus(record, "failed", { code: "AGENT_CRASH", message: "x" }, now);
      return /ended|failed/.test(record.containerName) ? failed : record;
    });
    const {
      findAgentsToStart,
      describe: say,
      inImage,
    } = access({
      requests: { "asked-1": { kind: "script" }, "failed-1": { kind: "script" } },
      tasks: [
        task("asked"),
        task("waiting"),
        task("ended"),
        task("failed", { kind: "acp", command: ["gemini"] }),
      ],
    });

    const agents = await findAgentsToStart([], { ...open, containers }, ["aimi-111111-0b7e6a-failed"]);

    expect(agents.map(({ file, agent: { kind } }) => `${file.split("/").at(-1)} ${kind}`)).toEqual([
      "asked-tasks.json script",
      "waiting-tasks.json claude",
      "failed-tasks.json acp",
    ]);
    expect(inImage(agents)).toEqual(["claude", "gemini"]);
    expect(say(agents).join("\n")).toMatch(
      /network bridge: NOT filtered[\s\S]*claude: ANTHROPIC_API_KEY goes/,
    );
    expect(say(agents).join("\n")).not.toContain("sesame");
    expect(say([])).toEqual([]);
  });

  test("a network must be there by its whole name; none, bridge and the gateway always are", async () => {
    const networks = { names: async () => ["bridge", "agents", "a1b2c3"] };
    const signal = new AbortController().signal;
    const find = (network: string) => access({ network }).network(networks, signal);

    expect(await find("none")).toEqual({ kind: "none" });
    // Of their own, until the gateway makes one for each worker.
    expect(await find("gateway")).toEqual({ kind: "none" });
    expect(await find("bridge")).toEqual({ kind: "bridge" });
    expect(await find("agents")).toEqual({ kind: "named", name: "agents" });
    await expect(find("agent")).rejects.toMatchObject({
      ...{ code: "INVALID_VALUE", message: 'network cannot be "agent"' },
      hint: "Expected: gateway, none, bridge, a1b2c3, agents.",
    });
  });

  test("credentials are those of the request's own agent", () => {
    const request = { taskFilePath: "a", branchName: "b", repoUrl: "image:" };
    const { credentials } = access();

    expect(credentials({ ...request, agent: { kind: "claude" } })).toEqual({ ANTHROPIC_API_KEY: "sesame" });
    expect(credentials({ ...request, agent: { kind: "command", command: ["claude"] } })).toBeNull();
  });
});

describe("the base image", () => {
  test("gets the agents that are needed beside those that it has, says so, and keeps them", async () => {
    const engine = fakeEngine();
    const { images } = await engine.open();
    await images.import(packFiles([]), { tag: rootFilesystemImage, labels: {} });
    const steps: string[] = [];
    const ensure = (agents: readonly string[] | null, withAgents: readonly string[] = []) =>
      ensureBaseImage(
        {
          engine,
          sources: {
            readImageFile: async () => Buffer.from("FROM x\n"),
            readAdapter: async () => Buffer.from("adapter"),
            readGateway: async () => Buffer.from("gateway"),
            readCertificates: async () => [],
            download: async () => thisFile,
            // biome-ignore lint/correctness/useYield: the root is there.
            makeRootFilesystem: async function* () {
              throw new Error("nothing is to be made");
            },
          },
          lock: {
            acquire: async () => ({ confirm: async () => {}, [Symbol.asyncDispose]: async () => {} }),
            holder: async () => null,
          },
        },
        { agents, withAgents, fresh: false },
        { onStep: (step) => void steps.push(step), onEvent: () => {} },
      );

    await ensure(["gemini"]);
    const added = await ensure(null, ["claude", "gemini"]);
    const again = await ensure(null, ["claude"]);

    expect([added.built, again.built]).toEqual([true, false]);
    expect(agentNamesInImage(await images.find(baseImage))).toEqual(["claude", "gemini"]);
    expect(steps).toEqual([`Building ${baseImage}`, `Building ${baseImage}, with the new agents claude`]);
  });
});
