import { describe, expect, test } from "vitest";
import { flagForSetting, settingFlags, settingsFromFlags } from "../../../src/cli/flags/setting-flags.ts";
import type { SwarmError } from "../../../src/errors/errors.ts";
import { checkSettings, parseSettings } from "../../../src/settings/parse-settings.ts";
import {
  explainSettings,
  type SettingName,
  type SettingsFile,
  settingsWithoutOrigins,
} from "../../../src/settings/rules/settings.ts";
import { settingsFromEnvironment } from "../../../src/settings/rules/settings-environment.ts";

const none = { flag: {}, environment: {}, project: {}, user: {} };

function explain(sources: Partial<Record<keyof typeof none, SettingsFile>>, projectTrusted = false) {
  const explained = explainSettings({ ...none, ...sources }, { projectTrusted });
  return (name: SettingName) => explained.find((setting) => setting.name === name);
}

describe("settings", () => {
  test("flags come before the environment, the project, the user and the defaults", () => {
    const order: (keyof typeof none)[] = ["flag", "environment", "project", "user"];
    for (let strongest = 0; strongest < order.length; strongest += 1) {
      const sources = Object.fromEntries(
        order.slice(strongest).map((origin, index) => [origin, { parallel: strongest + index + 1 }]),
      );

      expect(explain(sources)("parallel")).toMatchObject({ value: strongest + 1, origin: order[strongest] });
    }
    expect(explain({})("parallel")).toMatchObject({ value: "auto", origin: "default" });
  });

  test("every setting has a default and an origin", () => {
    const explained = explainSettings(none, { projectTrusted: false });

    expect(explained.length).toBeGreaterThan(20);
    expect(explained.filter(({ value, origin }) => value === undefined || origin !== "default")).toEqual([]);
    expect(settingsWithoutOrigins(explained)["limits.memory"]).toBe("4g");
  });

  const widening: [name: SettingName, project: SettingsFile, user: SettingsFile][] = [
    ["allow", { allow: ["example.org:443"] }, {}],
    ["engine", { engine: "unix:///elsewhere" }, {}],
    ["network", { network: "bridge" }, {}],
    ["network", { network: "another" }, { network: "agents" }],
    ["isolation", { isolation: "shared-kernel" }, { isolation: "strong" }],
    ["isolation", { isolation: "auto" }, { isolation: "userns" }],
    ["limits.cpus", { limits: { cpus: 64 } }, {}],
    ["limits.memory", { limits: { memory: "64g" } }, {}],
    ["limits.disk", { limits: { disk: "1t" } }, {}],
    ["limits.pids", { limits: { pids: 100_000 } }, {}],
    ["limits.programs32Bit", { limits: { programs32Bit: true } }, {}],
    ["work.files", { work: { files: 100_000 } }, {}],
    ["work.size", { work: { size: "1t" } }, {}],
    ["work.fileSize", { work: { fileSize: "5g" } }, {}],
    ["timeout", { timeout: "7d" }, {}],
    ["network", { network: "gateway" }, { network: "none" }],
    ["network", { network: "bridge" }, { network: "agents" }],
    ["budgetUsd", { budgetUsd: 100 }, { budgetUsd: 10 }],
    ["budgetTokens", { budgetTokens: 100 }, { budgetTokens: 10 }],
    ["swarmBudgetUsd", { swarmBudgetUsd: 100 }, { swarmBudgetUsd: 10 }],
    ["swarmBudgetTokens", { swarmBudgetTokens: 100 }, { swarmBudgetTokens: 10 }],
    ["swarmBudgetTime", { swarmBudgetTime: "2h" }, { swarmBudgetTime: "90m" }],
    ["modelEndpoints", { modelEndpoints: ["anthropic=https://thief.example"] }, {}],
    ["registries", { registries: ["npm=https://thief.example"] }, {}],
    ["credentials.anthropic", { credentials: { anthropic: "cmd:touch /tmp/x" } }, {}],
    ["credentials.openai", { credentials: { openai: "file:/etc/passwd" } }, {}],
    ["credentials.google", { credentials: { google: "env:AWS_SECRET_ACCESS_KEY" } }, {}],
    ["prices", { prices: [{ model: "", input: 0, output: 0, cacheRead: 0, cacheWrite: 0 }] }, {}],
  ];
  test.each(widening)("an untrusted project cannot widen %s; a trusted one can", (name, project, user) => {
    const before = explain({ user })(name);

    const untrusted = explain({ project, user })(name);
    const trusted = explain({ project, user }, true)(name);

    expect(untrusted).toMatchObject({
      value: before?.value,
      origin: before?.origin,
      untrusted: expect.any(String),
    });
    expect(trusted).toMatchObject({ origin: "project", untrusted: null });
    expect(trusted?.value).not.toEqual(before?.value);
  });

  const narrowing: [name: SettingName, project: SettingsFile, user: SettingsFile][] = [
    ["isolation", { isolation: "strong" }, {}],
    ["limits.cpus", { limits: { cpus: 1 } }, {}],
    ["limits.memory", { limits: { memory: "512m" } }, {}],
    ["timeout", { timeout: "10m" }, {}],
    ["budgetUsd", { budgetUsd: 1 }, { budgetUsd: 10 }],
    ["budgetUsd", { budgetUsd: 1 }, {}],
    ["verify", { verify: ["npm test"] }, {}],
    ["agent", { agent: "script" }, {}],
    ["budgetTokens", { budgetTokens: 1 }, {}],
    ["swarmBudgetUsd", { swarmBudgetUsd: 1 }, { swarmBudgetUsd: 1 }],
    ["swarmBudgetTokens", { swarmBudgetTokens: 1 }, {}],
    ["swarmBudgetTime", { swarmBudgetTime: "10m" }, {}],
    ["swarmBudgetTime", { swarmBudgetTime: "59s" }, { swarmBudgetTime: "1m" }],
    ["network", { network: "none" }, { network: "bridge" }],
    ["network", { network: "none" }, {}],
    ["network", { network: "gateway" }, { network: "bridge" }],
    ["network", { network: "gateway" }, {}],
    ["network", { network: "agents" }, { network: "agents" }],
  ];
  test.each(narrowing)("an untrusted project may narrow %s", (name, project, user) => {
    expect(explain({ project, user })(name)).toMatchObject({ origin: "project", untrusted: null });
  });
});

describe("settings from the environment", () => {
  test("are read by name, numbers as numbers", () => {
    const { settings } = settingsFromEnvironment({
      SWARM_PARALLEL: "3",
      AIMI_SANDBOX_MEMORY: "2g",
      AIMI_SANDBOX_CPUS: "1.5",
      SWARM_AGENT: "script",
      OTHER: "x",
    });

    expect(settings).toEqual({ parallel: 3, agent: "script", limits: { memory: "2g", cpus: 1.5 } });
  });

  test("have lists, budgets and references, and are good settings", async () => {
    const { settings } = settingsFromEnvironment({
      ...{ SWARM_ALLOW: "npm, example.org:8443 go", SWARM_REGISTRIES: "npm=https://a.example" },
      SWARM_MODEL_ENDPOINTS:
        "a=https://a.example,api=openai; b=https://b.example,header=X-Key:cmd:pass show b;",
      ...{ SWARM_BUDGET_USD: "2.50", SWARM_BUDGET_TOKENS: "9", SWARM_BUDGET_TIME: "2h" },
      ...{ SWARM_WORKER_BUDGET_USD: "1", SWARM_WORKER_BUDGET_TOKENS: "8" },
      ...{ SWARM_CREDENTIAL_ANTHROPIC: "file:~/key", SWARM_CREDENTIAL_GOOGLE: "env:MY_KEY" },
    });

    expect(await checkSettings(settings, String)).toEqual({
      ...{ allow: ["npm", "example.org:8443", "go"], registries: ["npm=https://a.example"] },
      modelEndpoints: ["a=https://a.example,api=openai", "b=https://b.example,header=X-Key:cmd:pass show b"],
      ...{ swarmBudgetUsd: 2.5, swarmBudgetTokens: 9, swarmBudgetTime: "2h", budgetUsd: 1, budgetTokens: 8 },
      credentials: { anthropic: "file:~/key", google: "env:MY_KEY" },
    });
  });

  test.each([
    ["SWARM_PARALLEL", "many"],
    ["SWARM_PARALLEL", "0"],
    ["SWARM_ISOLATION", "most"],
    ["AIMI_SANDBOX_MEMORY", "4 GB"],
    ["SWARM_BUDGET_USD", "-1"],
    ["SWARM_BUDGET_USD", "Infinity"],
    ["SWARM_BUDGET_TOKENS", "1.5"],
    ["SWARM_BUDGET_TIME", "2 hours"],
    ["SWARM_WORKER_BUDGET_USD", "much"],
    ["SWARM_WORKER_BUDGET_TOKENS", "0"],
    ["SWARM_ALLOW", "nmp"],
    ["SWARM_ALLOW", "10.0.0.1:443"],
    ["SWARM_ENGINE", "file:///x"],
    ...["host", "default", "container:x", "-x", "a b", "../x", "ns:/proc/1/ns/net"].map(
      (network): [string, string] => ["SWARM_NETWORK", network],
    ),
  ])("%s=%s is an error that names the variable", async (name, value) => {
    const { settings, variableByPointer } = settingsFromEnvironment({ [name]: value });

    await expect(
      checkSettings(settings, (pointer) => variableByPointer.get(pointer) ?? pointer),
    ).rejects.toMatchObject({
      code: "INVALID_VALUE",
      message: `${name} cannot be "${value}"`,
    });
  });
});

describe("settings from flags", () => {
  test("have the names of their settings; those of workers are not those of the swarm", async () => {
    const flags = settingsFromFlags(
      {
        ...{ allow: ["npm"], registry: ["npm=https://a.example"], modelEndpoint: ["a=https://a.example"] },
        ...{ budgetUsd: "2.50", budgetTokens: "9", budgetTime: "2h", workerBudgetUsd: "1" },
        ...{ workerBudgetTokens: "8", credential: ["anthropic=file:~/key", "openai=env:A=B"] },
      },
      [],
    );

    expect(flags).toEqual({
      ...{ allow: ["npm"], registries: ["npm=https://a.example"], modelEndpoints: ["a=https://a.example"] },
      ...{ swarmBudgetUsd: 2.5, swarmBudgetTokens: 9, swarmBudgetTime: "2h", budgetUsd: 1, budgetTokens: 8 },
      credentials: { anthropic: "file:~/key", openai: "env:A=B" },
    });
  });

  test("are named as they were typed", () => {
    const pointers = [
      "/parallel",
      "/budgetUsd",
      "/swarmBudgetUsd",
      "/allow",
      "/modelEndpoints",
      "/registries",
    ];

    expect([...pointers, "/credentials/google", "/agentCommand/0"].map(flagForSetting)).toEqual([
      ...["--parallel", "--worker-budget-usd", "--budget-usd", "--allow", "--model-endpoint", "--registry"],
      ...["--credential google", "the agent's program after --"],
    ]);
  });

  test("exist for each name that an error says", () => {
    const flags = settingFlags.map(([flag]) => flag.split(" ")[0]);

    for (const pointer of ["/budgetUsd", "/budgetTokens", "/swarmBudgetUsd", "/swarmBudgetTokens"])
      expect(flags).toContain(flagForSetting(pointer));
    for (const pointer of ["/swarmBudgetTime", "/allow", "/modelEndpoints", "/registries", "/credentials/x"])
      expect(flags).toContain(flagForSetting(pointer).split(" ")[0]);
  });
});

describe("words of settings", () => {
  const secret = "sk-ant-api03-SESAME";
  const refusals: [name: string, settings: SettingsFile, pointer: string, expected: string][] = [
    [
      "a secret in place of a reference",
      { credentials: { anthropic: secret } },
      "/credentials/anthropic",
      "env:NAME",
    ],
    [
      "no known provider",
      settingsFromFlags({ credential: [`other=${secret}`] }, []),
      "/credentials/other",
      "anthropic",
    ],
    ["no provider", settingsFromFlags({ credential: [secret] }, []), "/credentials/…", "anthropic"],
    [
      "a key of GitHub",
      { credentials: { openai: "env:GITHUB_TOKEN" } },
      "/credentials/openai",
      "git or git hosts",
    ],
    ["a file here", { credentials: { openai: "file:key" } }, "/credentials/openai", "begins with / or ~/"],
    [
      "a secret in a header",
      { modelEndpoints: [`a=https://a.example,header=X-Key:${secret}`] },
      "/modelEndpoints",
      "env:NAME",
    ],
    [
      "a secret in an address",
      { modelEndpoints: [`a=https://u:${secret}@a.example`] },
      "/modelEndpoints",
      "password",
    ],
    [
      "a secret in a query",
      { modelEndpoints: [`a=https://a.example/?key=${secret}`] },
      "/modelEndpoints",
      "without a query",
    ],
    ["a secret alone", { modelEndpoints: [secret] }, "/modelEndpoints", "name=url"],
    [
      "this machine",
      { modelEndpoints: ["a=http://localhost:4000"] },
      "/modelEndpoints",
      "`localhost` means the container",
    ],
    ["an unknown API", { modelEndpoints: ["a=https://a.example,api=other"] }, "/modelEndpoints", "api="],
    [
      "a mistyped option",
      { modelEndpoints: ["a=https://a.example,headers=X:env:A"] },
      "/modelEndpoints",
      "header=",
    ],
    [
      "a name twice",
      { modelEndpoints: ["a=https://a.example", "a=https://b.example"] },
      "/modelEndpoints",
      "each name may appear only once",
    ],
    [
      "a header of the connection",
      { modelEndpoints: ["a=https://a.example,header=Host:env:A"] },
      "/modelEndpoints",
      "authenticates the gateway",
    ],
    ["no preset with a mirror", { registries: ["pypi=https://a.example"] }, "/registries", "npm"],
    [
      "an API of a registry",
      { registries: ["npm=https://a.example,api=openai"] },
      "/registries",
      "preset=url",
    ],
    ["a host with a password", { allow: [`u:${secret}@a.example`] }, "/allow", "host:port"],
    ["a wildcard", { allow: ["*.example.org:443"] }, "/allow", "wildcard"],
  ];
  test.each(refusals)(
    "%s is refused, and no secret is repeated",
    async (_name, settings, pointer, expected) => {
      const refusal: unknown = await checkSettings(settings, String).catch((error: unknown) => error);

      expect(refusal).toMatchObject({ code: "INVALID_VALUE", details: { name: pointer } });
      expect(refusal).toHaveProperty("hint", expect.stringContaining(expected));
      expect(JSON.stringify(refusal) + String(refusal) + (refusal as SwarmError).hint).not.toContain(
        "SESAME",
      );
    },
  );

  test.each(refusals)("%s is refused in a file at its place", async (_name, settings) => {
    const bytes = Buffer.from(JSON.stringify(settings, null, 2));

    const refusal: unknown = await parseSettings(bytes, "config.json").catch((error: unknown) => error);

    expect(refusal).toMatchObject({
      code: "SETTINGS_INVALID",
      details: { place: { line: expect.any(Number) } },
    });
    const { message, hint, details } = refusal as SwarmError;
    expect(`${message} ${hint} ${JSON.stringify(details)}`).not.toContain("SESAME");
  });
});

describe("settings files", () => {
  test.each([
    ['{"agnet": "claude"}', '"agnet" is not a field of the file', 1],
    ['{\n  "parallel": 0\n}', "parallel must be >= 1", 2],
    ['{\n\n"limits": {"memory": "4 gigabytes"}}', "memory does not have the expected form", 3],
  ])("%s is refused at its line", async (text, problem, line) => {
    await expect(parseSettings(Buffer.from(text), "config.json")).rejects.toMatchObject({
      code: "SETTINGS_INVALID",
      message: expect.stringContaining(problem),
      details: { place: { line } },
    });
  });
});
