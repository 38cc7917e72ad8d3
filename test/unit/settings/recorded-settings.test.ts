import { describe, expect, test } from "vitest";
import {
  applyRecordedSettings,
  pickRecordedSettings,
} from "../../../src/settings/rules/recorded-settings.ts";
import {
  type ExplainedSetting,
  explainSettings,
  type SettingsFile,
  settingsWithoutOrigins,
} from "../../../src/settings/rules/settings.ts";

const explained = (sources: { flag?: SettingsFile; user?: SettingsFile } = {}): ExplainedSetting[] =>
  explainSettings({ flag: {}, environment: {}, project: {}, user: {}, ...sources }, { projectTrusted: true });

const begun = settingsWithoutOrigins(
  explained({
    flag: { agent: "command", agentCommand: ["./agent"], parallel: 7, timeout: "2h", verify: ["npm test"] },
  }),
);

describe("the settings of a swarm that is gone on with", () => {
  test("are those that it was begun with, whatever files and environment say by now", () => {
    const now = explained({ user: { agent: "acp", parallel: 2, timeout: "5m", verify: [] } });

    expect(applyRecordedSettings(now, pickRecordedSettings(begun))).toEqual(begun);
  });

  test("are today's where none were recorded, and for whatever is not recorded", () => {
    expect(applyRecordedSettings(explained(), null)).toEqual(settingsWithoutOrigins(explained()));

    const now = explained({ user: { limits: { memory: "9g" } } });
    expect(applyRecordedSettings(now, pickRecordedSettings(begun))["limits.memory"]).toBe("9g");
    expect(Object.keys(pickRecordedSettings(begun))).not.toContain("engine");
  });

  test("give way to flags; another agent comes without the words of the recorded one", () => {
    const now = explained({ flag: { agent: "acp", parallel: 1 } });

    expect(applyRecordedSettings(now, pickRecordedSettings(begun))).toMatchObject({
      ...{ agent: "acp", agentCommand: settingsWithoutOrigins(now).agentCommand, parallel: 1 },
      ...{ timeout: "2h", verify: ["npm test"] },
    });
  });

  test("are what was opened and what it may cost, too; a flag that is given later is stronger", () => {
    const opened: SettingsFile = {
      ...{ allow: ["npm"], network: "gateway", registries: ["npm=https://packages.example"] },
      ...{ modelEndpoints: ["mine=https://models.example"], swarmBudgetUsd: 5, budgetTokens: 1_000 },
      ...{
        swarmBudgetTime: "2h",
        prices: [{ model: "m", input: 1, output: 1, cacheRead: 1, cacheWrite: 1 }],
      },
    };
    const recorded = pickRecordedSettings(settingsWithoutOrigins(explained({ flag: opened })));

    const now = explained({ user: { allow: ["github"], swarmBudgetUsd: 50, network: "bridge" } });
    expect(applyRecordedSettings(now, recorded)).toMatchObject(opened);

    const raised = explained({ flag: { swarmBudgetUsd: 9, allow: ["go"] } });
    expect(applyRecordedSettings(raised, recorded)).toMatchObject({
      ...opened,
      swarmBudgetUsd: 9,
      allow: ["go"],
    });
  });

  test("hold no credential: those of whoever goes on count", () => {
    const recorded = pickRecordedSettings(
      settingsWithoutOrigins(explained({ flag: { credentials: { anthropic: "env:OLD" } } })),
    );

    const now = explained({ user: { credentials: { anthropic: "env:NEW" } } });

    expect(JSON.stringify(recorded)).not.toContain("OLD");
    expect(applyRecordedSettings(now, recorded)["credentials.anthropic"]).toBe("env:NEW");
  });
});
