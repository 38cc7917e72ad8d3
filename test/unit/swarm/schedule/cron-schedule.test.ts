import { execFileSync } from "node:child_process";
import { describe, expect, test } from "vitest";
import {
  crontabLine,
  findCrontabLines,
  isWeekdayList,
  parseTimeOfDay,
  replaceCrontabLine,
  type SwarmCronSchedule,
} from "../../../../src/swarm/schedule/rules/cron-schedule.ts";

const night: SwarmCronSchedule = {
  ...{ projectId: "abc", root: "/home/ada/it's 100 % mine", program: "/opt/swarm/bin/swarm" },
  ...{ at: { hour: 23, minute: 5 }, days: "mon-fri", environment: { PATH: "/usr/bin:/bin" } },
  commandArguments: ["start", "--all", "--until", "07:00", "--notify", 'notify-send "$(date +%H)"'],
};

describe("a line of a crontab", () => {
  test("says when, where and what, in words that a shell takes as they are meant", () => {
    const line = crontabLine(night) ?? "";

    expect(line).toMatch(/^5 23 \* \* mon-fri cd /);
    expect(line).toMatch(/ # aimi-swarm abc$/);
    // As cron hands it to the shell, with the program and its folder put out of the way.
    const command = line
      .split(" ")
      .slice(5)
      .join(" ")
      .replaceAll("\\%", "%")
      .replace(/&& mkdir .*? && /, "; ");
    const seen = execFileSync("sh", [
      "-c",
      `cd() { printf '%s\n' "$1"; }; env() { printf '%s\n' "$@"; }; ${command.replace(/ >> .*/, "")}`,
    ]);
    expect(seen.toString().trim().split("\n")).toEqual([
      night.root,
      ...["PATH=/usr/bin:/bin", night.program, ...night.commandArguments],
    ]);
  });

  test("has no % that cron would take for the end of the line", () => {
    expect(crontabLine(night)?.replaceAll("\\%", "")).not.toContain("%");
  });

  test("is none where it would be cut, or broken by a character", () => {
    expect(crontabLine({ ...night, root: "/a\nb" })).toBeNull();
    expect(crontabLine({ ...night, commandArguments: ["--notify", "date +\\%H"] })).toBeNull();
    expect(crontabLine({ ...night, root: `/${"x".repeat(1_000)}` })).toBeNull();
  });
});

describe("a crontab", () => {
  const others = "# nights\nMAILTO=ada\n0 1 * * * backup # aimi-swarm, not\n5 5 * * * b # aimi-swarm other\n";

  test("gets one line for a project, and all else stays as it is", () => {
    const once = replaceCrontabLine(others, "abc", "0 23 * * * a # aimi-swarm abc");

    expect(once).toBe(`${others}0 23 * * * a # aimi-swarm abc\n`);
    expect(replaceCrontabLine(once, "abc", "0 23 * * * a # aimi-swarm abc")).toBe(once);
    expect(replaceCrontabLine(once, "abc", "1 22 * * * a # aimi-swarm abc")).toBe(
      `${others}1 22 * * * a # aimi-swarm abc\n`,
    );
    expect(replaceCrontabLine(once, "abc", null)).toBe(others);
    expect(replaceCrontabLine("0 23 * * * a # aimi-swarm abc", "abc", null)).toBe("");
  });

  test("has the lines of every project, and no comments", () => {
    expect(findCrontabLines(`${others}#5 5 * * * c # aimi-swarm off\n`)).toEqual([
      { projectId: "other", line: "5 5 * * * b # aimi-swarm other" },
    ]);
  });
});

describe("when", () => {
  test.for([
    ["23:00", { hour: 23, minute: 0 }],
    ["7:05", { hour: 7, minute: 5 }],
    ["24:00", null],
    ["7", null],
    ["07:60", null],
    ["* *", null],
  ] as const)("at %s", ([text, at]) => {
    expect(parseTimeOfDay(text)).toEqual(at);
  });

  test.for([
    ["*", true],
    ["mon-fri", true],
    ["1,4", true],
    ["sat,sun", true],
    ["", false],
    ["1-2-3", false],
    ["fri-mon", false],
    ["monday", false],
    ["* * root rm", false],
  ] as const)("on %s", ([text, isRight]) => {
    expect(isWeekdayList(text)).toBe(isRight);
  });
});
