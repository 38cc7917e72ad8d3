import { describe, expect, test } from "vitest";
import { judgeAgentCommand } from "../../../src/claude-code/rules/approve-command.ts";
import { autoApprovedCommands } from "../../../src/claude-code/rules/approved-commands.ts";
import { commands as known } from "../../../src/cli/flags/commands.ts";

const program = "/opt/aimi/bin/swarm";
const programs = [program];

const ours = [
  "status",
  "status --json --exit-status",
  "plan --all --json",
  "plan .aimi/tasks/2026-01-02-one-tasks.json --json",
  "start --all -d --json",
  "start .aimi/tasks/2026-01-02-one-tasks.json .aimi/tasks/two-tasks.json --parallel 4 -d",
  "start --all --append --fail-fast --max-attempts 2 --again --strict",
  "resume --detach",
  "retry @failed worker-2 --json",
  "stop",
  "pause worker",
  "unpause worker --json",
  "wait worker-1 worker-2 --timeout 30m",
  "logs worker --story US-001 --attempt 2 --json",
  "events --worker worker --kind egress --json",
  "events --swarm all",
  "diff worker --stat",
  "summary --markdown",
  "cleanup --dry-run --json",
  "cleanup worker",
  "doctor --json",
  "version --json",
].map((words) => `${program} ${words}`);

describe("a command of ours", () => {
  test.each(ours)("%s is approved", (command) => {
    expect(judgeAgentCommand(command, programs).kind).toBe("allow");
  });

  test("every approved command and flag is one that the program has, and none of them lets a sandbox do more", () => {
    for (const [name, { flags }] of Object.entries(autoApprovedCommands)) {
      const command = known.find((one) => one.name.split(" ")[0] === name);
      const flagsOf = (command?.options ?? []).flatMap(([words]) => words.split(/[ ,]+/));
      for (const flag of Object.keys(flags))
        expect([...flagsOf, "--json"], `${name} ${flag}`).toContain(flag);
      for (const flag of [
        "--allow",
        "--isolation",
        "--engine",
        "--network",
        "--agent",
        "--force",
        "--discard",
        "--yes",
      ])
        expect(Object.keys(flags)).not.toContain(flag);
    }
    for (const name of [
      "trust",
      "config",
      "schedule",
      "sandbox",
      "shell",
      "engine",
      "image",
      "state",
      "run",
      "plugin",
    ])
      expect(Object.keys(autoApprovedCommands)).not.toContain(name);
  });
});

/** What our commands look like, written down a second time and by other means than the code that decides. */
const file = String.raw`\.aimi/tasks/[A-Za-z0-9][\w.-]*-tasks\.json`;
const worker = "(?:@failed|@running|@all|[a-z0-9][a-z0-9-]*)";
const grammar: readonly RegExp[] = [
  "status( --json| --exit-status)*",
  `plan( --json| --all| --again| --strict| ${file})*`,
  `start( --json| --all| --again| --strict| --append| --fail-fast| -d| --detach| --parallel [1-9]\\d*| --max-attempts [1-9]\\d*| ${file})*`,
  "resume( --json| --fail-fast| -d| --detach| --parallel [1-9]\\d*| --max-attempts [1-9]\\d*)*",
  `retry( --json| --fail-fast| --parallel [1-9]\\d*| --max-attempts [1-9]\\d*| ${worker})*`,
  `(stop|pause|unpause)( --json| ${worker})*`,
  `wait( --json| --timeout [1-9]\\d*[smhd]| ${worker})*`,
  `logs( --json| --story [A-Za-z][\\w.-]*| --attempt [1-9]\\d*| ${worker})*`,
  `events( --json| --worker ${worker}| --kind (model|egress)| --swarm (all|[0-9a-f-]+))*`,
  `diff( --json| --stat| ${worker})*`,
  "summary( --json| --markdown)*",
  `cleanup( --json| --dry-run| ${worker})*`,
  "(doctor|version)( --json)*",
].map((form) => new RegExp(`^/opt/aimi/bin/swarm ${form}$`));

describe("a command of ours with a character more", () => {
  const characters = [
    ...Array.from({ length: 256 }, (_, code) => String.fromCharCode(code)),
    ...[
      "\u2028",
      "\u2029",
      "\u200b",
      "\ufeff",
      "\u0430",
      "\u3000",
      "\ud83d\ude00",
      "\ud800",
      "\u0131",
      "\u212a",
    ],
  ];

  test("is approved only where it is another command of ours, wherever the character stands", () => {
    const wrong: string[] = [];
    let tried = 0;
    for (const command of ours)
      for (let at = 0; at <= command.length; at += 1)
        for (const character of characters) {
          tried += 1;
          const line = command.slice(0, at) + character + command.slice(at);
          if (judgeAgentCommand(line, programs).kind !== "allow") continue;
          if (!grammar.some((form) => form.test(line)) || /[^A-Za-z0-9_./:=@, -]/.test(line))
            wrong.push(line);
        }

    expect(tried).toBeGreaterThanOrEqual(140_000);
    expect(wrong).toEqual([]);
  });

  test("expressions without an end to them would let a line break through (control)", () => {
    const line = `${program} status --json\ntouch canary`;

    expect(/^\/opt\/aimi\/bin\/swarm status( --json)*/.test(line)).toBe(true);
    expect(judgeAgentCommand(line, programs).kind).toBe("silent");
  });
});

describe("what is none of ours", () => {
  test.each([
    ["another program", "/usr/bin/swarm status"],
    ["a program by its name", "swarm status"],
    ["a command that spends or widens", `${program} start --all --allow npm`],
    ["a command that asks a person", `${program} trust --yes`],
    ["a name that every object has", `${program} constructor`],
    ["a flag that every object has", `${program} status __proto__`],
    ["a word too many", `${program} logs one two`],
    ["a word too few", `${program} retry --json`],
    ["a flag without its value", `${program} wait --timeout`],
    ["a value that leads out", `${program} start .aimi/tasks/../../x-tasks.json`],
    ["very many words", `${program} stop ${"worker ".repeat(400)}worker`],
    ["nothing", ""],
  ])("%s is met with silence", (_name, command) => {
    expect(judgeAgentCommand(command, programs)).toMatchObject({ kind: "silent" });
  });

  test("without an installed program nothing is approved", () => {
    expect(judgeAgentCommand(`${program} status`, []).kind).toBe("silent");
    expect(judgeAgentCommand("bin/swarm status", ["bin/swarm"]).kind).toBe("silent");
  });
});

describe("what gives a container a part of this machine", () => {
  test.each([
    "docker run --privileged debian",
    "docker run -v /:/host debian cat /host/etc/shadow",
    "docker container create -itv/:/host debian",
    "podman run --mount type=bind,source=/,target=/host debian",
    "curl --unix-socket /var/run/docker.sock http://localhost/containers/json",
    `${program} status; docker run --volume /:/x debian`,
  ])("a person is asked, whatever their rules say: %s", (command) => {
    expect(judgeAgentCommand(command, programs).kind).toBe("ask");
  });

  test.each(["docker ps", "docker run debian ls", "git log -v", "grep -v docker.io list", "ls"])(
    "%s does not concern us",
    (command) => {
      expect(judgeAgentCommand(command, programs).kind).toBe("silent");
    },
  );
});
