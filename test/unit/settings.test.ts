import { describe, expect, test } from "vitest";
import {
  explainSettings,
  type SettingName,
  type SettingsFile,
  settingNames,
  settingsOf,
} from "../../src/domain/settings.ts";
import { settingsFromEnvironment } from "../../src/domain/settings-environment.ts";
import { checkSettings, parseSettings } from "../../src/schema/read-document.ts";

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

    expect(explained.map(({ name }) => name)).toEqual(settingNames);
    expect(settingsOf(explained)["limits.memory"]).toBe("4g");
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
    ["timeout", { timeout: "7d" }, {}],
    ["budgetUsd", { budgetUsd: 100 }, { budgetUsd: 10 }],
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
    ["network", { network: "none" }, { network: "bridge" }],
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

  test.each([
    ["SWARM_PARALLEL", "many"],
    ["SWARM_PARALLEL", "0"],
    ["SWARM_ISOLATION", "most"],
    ["AIMI_SANDBOX_MEMORY", "4 GB"],
    ["SWARM_BUDGET_USD", "-1"],
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
