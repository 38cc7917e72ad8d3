import { execFileSync, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import {
  appendFileSync,
  chmodSync,
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  symlinkSync,
} from "node:fs";
import { createServer } from "node:http";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, test as plainTest } from "vitest";
import { commands } from "../../../src/cli/flags/commands.ts";
import { kernelLock } from "../../../src/machine/locks/kernel-lock.ts";
import { findSchemaViolations } from "../../../src/schema/find-violations.ts";
import type { SwarmState } from "../../../src/state/rules/swarm-state.ts";
import { type Finished, swarm as run } from "../../fakes/cli/swarm-command.ts";
import { test as base, writeTask } from "../../fakes/folders.ts";
import { git, write } from "../../fakes/git/repository.ts";
import { taskFileWith } from "../../fakes/tasks/task-files.ts";

const root = fileURLToPath(new URL("../../..", import.meta.url));

type Swarm = (...words: string[]) => Promise<Finished>;

/** Tests with the command in a repository of its own, a home of its own, and no engine to find. */
const test = base.extend<{ env: Record<string, string>; swarm: Swarm }>({
  env: async ({ folder }, use) => {
    await use({
      HOME: join(folder, "home"),
      SWARM_STATE_DIR: join(folder, "state"),
      DOCKER_HOST: `unix://${folder}/none.sock`,
      XDG_CONFIG_HOME: join(folder, "config"),
    });
  },
  swarm: async ({ repository, env }, use) => {
    await use((...words) => run({ folder: repository, env }, ...words));
  },
});

function snapshot(repository: string): string[] {
  return readdirSync(repository, { recursive: true, encoding: "utf8" })
    .filter((name) => !name.startsWith(".git/objects"))
    .sort();
}

describe("the command line", () => {
  test("prints its version, quickly and in JSON", async ({ swarm }) => {
    const { version } = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));

    expect(await swarm("--version")).toMatchObject({ exit: 0, stdout: `${version}\n`, stderr: "" });
    expect(JSON.parse((await swarm("version", "--json")).stdout)).toEqual({ version });
  });

  test("shows every command in its help, under its heading, and none of the old spellings", async ({
    swarm,
  }) => {
    const { exit, stdout } = await swarm("--help");

    expect(exit).toBe(0);
    for (const { name, hidden } of commands)
      expect(stdout.includes(`  ${name.split(" ")[0]} `), name).toBe(!hidden);
    expect(stdout.indexOf("START:")).toBeLessThan(stdout.indexOf("UPKEEP:"));
  });

  const mistakes: [words: string[], message: RegExp][] = [
    [["stat"], /unknown command 'stat'.*Did you mean (?:one of )?.*stat/],
    [["plan", "--every"], /unknown option '--every'/],
    [["state"], /swarm state needs a subcommand: one of init, add/],
    [["state", "remov", "x"], /swarm state needs a subcommand|unknown command 'remov'/],
    [["state", "add", "x"], /missing required argument 'name'/],
    [["state", "update", "x"], /needs at least one of --status/],
    [["state", "update", "x", "--status", "done"], /--status cannot be "done"/],
    [["state", "update", "x", "--acp-pid", "-5"], /--acp-pid cannot be|argument missing|unknown option/],
    [["state", "update", "x", "--pr-url", "javascript:x"], /--pr-url cannot be/],
    [["state", "update", "x", "--story-progress", "{"], /--story-progress cannot be/],
    [["state", "update", "x", "--story-progress", '{"total":-1}'], /--story-progress cannot be/],
    [["state", "add", "short", "n", "t.json", "b"], /containerId cannot be "short"/],
    [["state", "add", "-", "--rm", "t.json", "b"], /unknown option '--rm'/],
    [["plan", "--parallel", "0"], /--parallel cannot be "0"/],
    [["plan", "--isolation", "best"], /--isolation cannot be "best"/],
    [["plan", "--network", "host"], /--network cannot be "host"[\s\S]*networks of the host/],
    [["plan", "--network", "container:x"], /--network cannot be "container:x"/],
    [["plan", "--progress", "loud"], /--progress .*loud/],
    [["plan", "--all", "a-tasks.json"], /exclude each other/],
    [["state", "update", "x", "--pr-url", `https://example.org/${"x".repeat(2000)}`], /--pr-url cannot be/],
    [["completion", "tcsh"], /shell cannot be "tcsh"/],
    [["state", "repair", "--moved", "--copied"], /exclude each other/],
  ];
  for (const [words, message] of mistakes) {
    test(`swarm ${words.join(" ").slice(0, 80)}: exit 2, one clear error, nothing on stdout, nothing changed`, async ({
      swarm,
      repository,
    }) => {
      const before = snapshot(repository);

      const { exit, stdout, stderr } = await swarm(...words);

      expect({ exit, stdout }, stderr).toEqual({ exit: 2, stdout: "" });
      expect(stderr).toMatch(message);
      expect(stderr).toMatch(/^error [A-Z_]+: .*\nhint: .*\n$/);
      expect(snapshot(repository)).toEqual(before);
    });
  }

  test("a variable of the environment that cannot be understood is named", async ({ repository, env }) => {
    for (const [name, value] of [
      ["SWARM_PROGRESS", "loud"],
      ["SWARM_PARALLEL", "many"],
    ] as const) {
      expect(await run({ folder: repository, env: { ...env, [name]: value } }, "plan")).toMatchObject({
        exit: 2,
        stderr: expect.stringContaining(`${name} cannot be "${value}"`),
      });
    }
  });

  test("what the quick path prints is what the whole program prints", async ({ swarm }) => {
    await swarm("state", "init");
    await swarm("state", "add", "-", "aimi-one", "one.json", "feat/one");

    for (const words of [["status"], ["status", "--json"]]) {
      // A flag that says what is so anyway leads around the quick path.
      expect(await swarm(...words, "--progress", "auto")).toEqual(await swarm(...words));
    }
  });

  test("an error is the same object with --json", async ({ swarm }) => {
    const { exit, stdout } = await swarm("state", "status", "--json");

    expect(exit).toBe(2);
    expect(await findSchemaViolations("error", JSON.parse(stdout))).toEqual([]);
    expect(JSON.parse(stdout).error).toMatchObject({ code: "STATE_MISSING", hint: expect.any(String) });
  });

  test("a swarm without workers is not gone on with as if all of it were done", async ({ swarm }) => {
    await swarm("state", "init");

    expect(await swarm("resume")).toMatchObject({
      exit: 2,
      stderr: expect.stringMatching(/^error WORKERS_MISSING: .*\nhint: `swarm start --all`/),
    });
  });

  test("outside a repository it says so", async ({ folder, env }) => {
    expect(await run({ folder, env }, "plan")).toMatchObject({
      exit: 2,
      stderr: expect.stringMatching(/^error NOT_A_REPOSITORY: .* is not in a git repository\nhint: /),
    });
  });

  test("bare `swarm` says that there is no swarm and what to type next, and leaves no trace", async ({
    swarm,
    repository,
  }) => {
    const before = snapshot(repository);

    expect(await swarm()).toMatchObject({
      exit: 0,
      stdout: "There is no swarm in this worktree.\n",
      stderr: expect.stringContaining("swarm plan"),
    });
    expect(snapshot(repository)).toEqual(before);
  });

  test("progress goes to stderr in the form that was asked for", async ({ swarm }) => {
    const plain = await swarm("doctor", "--json", "--progress", "plain");
    const json = await swarm("doctor", "--json", "--progress", "json");
    const quiet = await swarm("doctor", "--json", "--progress", "quiet");

    expect(JSON.parse(plain.stdout)).toHaveProperty("findings");
    expect(plain.stderr).toContain("Looking for a container engine\n");
    expect(
      json.stderr
        .trim()
        .split("\n")
        .map((line) => JSON.parse(line).event),
    ).toContain("step");
    expect(quiet.stderr).toBe("");
  });

  test("colours appear on a terminal, and nowhere else", async ({ repository, env }) => {
    const onTerminal = (extra: Record<string, string | undefined>): string => {
      const { stdout } = spawnSync(
        "script",
        ["--quiet", "--return", "--command", `${root}/bin/swarm doctor --progress plain`, "/dev/null"],
        {
          cwd: repository,
          encoding: "utf8",
          env: {
            ...process.env,
            ...env,
            // Node takes a terminal in CI for one without colours.
            CI: undefined,
            NO_COLOR: undefined,
            FORCE_COLOR: undefined,
            TERM: "xterm",
            ...extra,
          } as NodeJS.ProcessEnv,
        },
      );
      return stdout;
    };

    expect(onTerminal({})).toContain("\u001b[3");
    expect(onTerminal({ NO_COLOR: "1" })).not.toContain("\u001b[");
    expect((await run({ folder: repository, env }, "doctor")).stdout).not.toContain("\u001b[");
  });

  test("on a terminal the work is shown in place, and the result still stands at the end", ({
    repository,
    env,
  }) => {
    const { stdout, status } = spawnSync(
      "script",
      ["--quiet", "--return", "--command", `stty cols 100; ${root}/bin/swarm doctor`, "/dev/null"],
      {
        cwd: repository,
        encoding: "utf8",
        env: { ...process.env, ...env, CI: "", CLAUDECODE: "", TERM: "xterm", LANG: "C.UTF-8" },
      },
    );

    expect(status).toBe(3);
    expect(stdout).toContain("Checking this machine");
    expect(stdout).toMatch(/✗ missing/);
  });

  test("with its result redirected, a terminal's progress does not get into it", ({
    repository,
    env,
    folder,
  }) => {
    const file = join(folder, "result.json");
    spawnSync(
      "script",
      [
        "--quiet",
        "--return",
        "--command",
        `stty cols 100; ${root}/bin/swarm doctor --json > ${file}`,
        "/dev/null",
      ],
      {
        cwd: repository,
        env: { ...process.env, ...env, CI: "", CLAUDECODE: "", TERM: "xterm", LANG: "C.UTF-8" },
      },
    );

    expect(JSON.parse(readFileSync(file, "utf8"))).toHaveProperty("findings");
  });

  test("Ctrl-C while it waits for an engine ends it with 130, and no report is pretended", async ({
    repository,
    env,
    folder,
  }) => {
    const socket = join(folder, "silent.sock");
    const asked = Promise.withResolvers<void>();
    const silent = createServer(() => asked.resolve()).listen(socket);
    const child = spawn(join(root, "bin/swarm"), ["doctor"], {
      cwd: repository,
      env: { ...process.env, ...env, DOCKER_HOST: `unix://${socket}` },
    });
    await asked.promise;

    const exited = once(child, "exit");
    child.kill("SIGINT");
    const [stdout, [exit]] = await Promise.all([child.stdout.toArray(), exited]);
    silent.closeAllConnections();
    silent.close();

    expect(exit).toBe(130);
    expect(stdout).toEqual([]);
  });

  test("an output that is closed early is no failure", ({ repository, env }) => {
    const { stderr, status } = spawnSync(
      "bash",
      [
        "-c",
        `set -o pipefail; ${root}/bin/swarm --help | head -c 1 > /dev/null; ${root}/bin/swarm doctor --progress quiet | true`,
      ],
      {
        cwd: repository,
        encoding: "utf8",
        env: { ...process.env, ...env },
      },
    );

    expect(stderr).toBe("");
    expect(status).toBe(3);
  });

  test("help leads to every command, and says what it does not know", async ({ swarm }) => {
    expect((await swarm("help", "state", "add")).stdout).toContain("add [options] <containerId>");
    expect(await swarm("help", "nosuch")).toMatchObject({
      exit: 2,
      stderr: expect.stringContaining("unknown command 'nosuch'"),
    });
  });

  test("a pipe in the place of a file is not waited for", async ({ swarm, repository }) => {
    mkdirSync(join(repository, ".aimi"));
    execFileSync("mkfifo", [
      join(repository, ".aimi/swarm-state.json"),
      join(repository, ".aimi/config.json"),
    ]);

    expect(await swarm("state", "list")).toMatchObject({
      exit: 3,
      stderr: expect.stringContaining("FILE_FAILED"),
    });
    expect(await swarm("plan")).toMatchObject({
      exit: 2,
      stderr: expect.stringContaining("FILE_UNREADABLE"),
    });
  });

  test("a folder in the place of a file is an error with a code, and no mistake of ours", async ({
    swarm,
    repository,
    env,
  }) => {
    mkdirSync(join(repository, ".aimi/swarm-state.json"), { recursive: true });
    mkdirSync(join(env["SWARM_STATE_DIR"] ?? "", "trust.json"), { recursive: true });
    writeTask(repository, "a-tasks.json", taskFileWith({ metadata: { dockerImage: "x:1" } }));

    for (const words of [["status"], ["state", "list"], ["state", "init"], ["trust", "--yes"]]) {
      const { exit, stderr } = await swarm(...words);
      expect(stderr, words.join(" ")).not.toContain("BUG");
      expect([2, 3, 9]).toContain(exit);
    }
  });

  test("without UTF-8 the glyphs are ASCII, and the words are the same", async ({ repository, env }) => {
    const { stdout } = await run({ folder: repository, env: { ...env, LANG: "C", LC_ALL: "C" } }, "doctor");

    expect(stdout).toMatch(/^x missing {2}engine/m);
    expect(stdout).toMatch(/^\+ good +node/m);
  });
});

describe("swarm init and plan", () => {
  test("init writes settings, an example and ignore rules; the example is a valid plan", async ({
    swarm,
    repository,
  }) => {
    const first = await swarm("init", "--json");
    const plan = await swarm("plan", "--json");

    expect(JSON.parse(first.stdout).files.map(({ result }: { result: string }) => result)).toEqual([
      "written",
      "written",
      "written",
    ]);
    expect(plan, plan.stderr).toMatchObject({ exit: 0 });
    expect(await findSchemaViolations("plan", JSON.parse(plan.stdout))).toEqual([]);
    expect(JSON.parse(plan.stdout).tasks).toHaveLength(1);
    expect(git(repository, "status", "--porcelain", "--untracked-files=all")).toMatch(
      /^(\?\? \.aimi\/(\.gitignore|config\.json|tasks\/.*-example-tasks\.json)\n){3}$/,
    );
  });

  test("a second init leaves everything as it was", async ({ swarm, repository }) => {
    await swarm("init");
    const settings = write(repository, ".aimi/config.json", '{ "parallel": 2 }\n');

    const { stdout } = await swarm("init");

    expect(stdout.match(/left as it was/g)).toHaveLength(3);
    expect(readFileSync(settings, "utf8")).toBe('{ "parallel": 2 }\n');
  });

  test("plan changes nothing at all", async ({ swarm, repository }) => {
    writeTask(repository, "a-tasks.json", taskFileWith());
    const before = snapshot(repository);

    await swarm("plan");

    expect(snapshot(repository)).toEqual(before);
  });

  test("plan says that changes of the working tree will not be in it", async ({ swarm, repository }) => {
    writeTask(repository, "a-tasks.json", taskFileWith());
    write(repository, "README.md", "changed");

    expect((await swarm("plan")).stderr).toContain("1 file differs from HEAD");
  });

  test("plan warns of nothing that `swarm init` has written", async ({ swarm }) => {
    await swarm("init");

    const { exit, stderr } = await swarm("plan");

    expect(exit, stderr).toBe(0);
    expect(stderr).not.toContain("from HEAD");
  });

  test("an invalid task file: exit 2, file, line, column, pointer, hint", async ({ swarm, repository }) => {
    writeTask(repository, "a-tasks.json", taskFileWith({ story: { dependsOn: ["US-404"] } }));

    const { exit, stderr } = await swarm("plan");

    expect(exit).toBe(2);
    expect(stderr).toMatch(
      /^error TASK_FILE_INVALID: \.aimi\/tasks\/a-tasks\.json:19:9 \(\/userStories\/0\/dependsOn\/0\): US-001 depends on US-404, which does not exist\nhint: /,
    );
  });

  test("titles are shown without their escape sequences", async ({ swarm, repository }) => {
    writeTask(
      repository,
      "a-tasks.json",
      taskFileWith({ metadata: { title: "\u001b]0;owned\u0007Title" }, story: { title: "\u001b[2JStory" } }),
    );

    const { stdout, stderr } = await swarm("plan");

    expect(stdout + stderr).not.toMatch(/\u001b|\u0007/);
    expect(stdout).toContain("Title");
    expect(stderr).toContain("contains control characters");
  });

  test("what was completed is skipped by content in the next plan; --again and a changed file are not", async ({
    swarm,
    repository,
  }) => {
    const file = writeTask(repository, "a-tasks.json", taskFileWith());
    await swarm("state", "init");
    await swarm("state", "add", "-", "aimi-a", ".aimi/tasks/a-tasks.json", "feat/a");
    await swarm("state", "update", "aimi-a", "--status", "completed");

    const action = async (...words: string[]): Promise<string> =>
      JSON.parse((await swarm("plan", "--json", ...words)).stdout).tasks[0].action;
    expect(await action()).toBe("skip");
    expect(await action("--again")).toBe("run");

    appendFileSync(file, "\n");
    expect(await action()).toBe("run");
  });
});

describe("swarm state", () => {
  test("init, add, update, list, status, remove, cleanup: as they were called, and as they are now", async ({
    swarm,
  }) => {
    for (const spelling of [(verb: string) => ["state", verb], (verb: string) => [`swarm-${verb}`]]) {
      const state = (verb: string, ...words: string[]): Promise<Finished> =>
        swarm(...spelling(verb), ...words);
      const { exit, stderr } = await state("init", "--force");
      expect(exit, stderr).toBe(0);
      await state("add", "0123456789ab", "aimi-one", ".aimi/tasks/one-tasks.json", "feat/one");
      await state("add", "-", "aimi-two", ".aimi/tasks/two-tasks.json", "feat/two");

      expect(
        (
          await state(
            "update",
            "aimi-one",
            "--status",
            "running",
            "--acp-pid",
            "42",
            "--story-progress",
            '{"total":3,"completed":1,"failed":0,"inProgress":1,"pending":1}',
          )
        ).exit,
      ).toBe(0);
      expect(
        (
          await state(
            "update",
            "aimi-one",
            "--status",
            "completed",
            "--pr-url",
            "https://example.org/1",
            "--acp-pid",
            "null",
          )
        ).exit,
      ).toBe(0);
      expect((await state("list")).stdout).toBe("aimi-one\tcompleted\naimi-two\tpending\n");
      const { containers }: SwarmState = JSON.parse((await state("status")).stdout);
      expect(containers[0]).toMatchObject({
        containerId: "0123456789ab",
        prUrl: "https://example.org/1",
        acpPid: null,
        storyProgress: { total: 3, skipped: 0 },
      });
      expect(await state("cleanup")).toMatchObject({ stdout: '{"removed":1}\n' });
      expect((await state("remove", "aimi-two")).exit).toBe(0);
      expect((await state("list")).stdout).toBe("");
    }
  });

  test("what the rules refuse is refused with its own code", async ({ swarm }) => {
    await swarm("state", "init");
    await swarm("state", "add", "-", "aimi-one", "one.json", "feat/one");
    await swarm("state", "update", "aimi-one", "--status", "failed");

    expect(await swarm("state", "init")).toMatchObject({
      exit: 9,
      stderr: expect.stringContaining("STATE_EXISTS"),
    });
    expect(await swarm("state", "add", "-", "aimi-one", "other.json", "b")).toMatchObject({
      exit: 9,
      stderr: expect.stringContaining("CONTAINER_EXISTS"),
    });
    expect(await swarm("state", "add", "-", "aimi-other", "one.json", "b")).toMatchObject({
      exit: 9,
      stderr: expect.stringContaining("a container for one.json"),
    });
    expect(await swarm("state", "update", "aimi-none", "--status", "failed")).toMatchObject({
      exit: 2,
      stderr: expect.stringContaining("CONTAINER_UNKNOWN"),
    });
    expect(await swarm("state", "update", "aimi-one", "--status", "running")).toMatchObject({
      exit: 9,
      stderr: expect.stringContaining("The next status after failed can be: pending."),
    });
  });

  test("eight commands that add the same container at once: one succeeds", async ({ swarm }) => {
    await swarm("state", "init");

    const results = await Promise.all(
      Array.from({ length: 8 }, () => swarm("swarm-add", "-", "aimi-one", "one.json", "feat/one")),
    );

    expect(results.map(({ exit }) => exit).sort()).toEqual([0, 9, 9, 9, 9, 9, 9, 9]);
    expect((await swarm("state", "list")).stdout).toBe("aimi-one\tpending\n");
  });

  test("beside a living owner only adding is welcome; everything else says who it is and exits 6", async ({
    swarm,
    repository,
  }) => {
    await swarm("state", "init");
    await swarm("state", "add", "-", "aimi-one", "one.json", "feat/one");
    await using _owner = await kernelLock(join(repository, ".git/aimi/owner.lock"), "swarm start").acquire(
      1_000,
    );

    for (const words of [
      ["update", "aimi-one", "--status", "failed"],
      ["remove", "aimi-one"],
      ["cleanup"],
      ["init", "--force"],
    ]) {
      expect(await swarm("state", ...words)).toMatchObject({
        exit: 6,
        stderr: expect.stringMatching(`error OWNED_BY_ANOTHER: .*pid ${process.pid} on .* \\(swarm start`),
      });
    }
    expect(await swarm("state", "add", "-", "aimi-two", "two.json", "feat/two")).toMatchObject({ exit: 0 });
    expect((await swarm("status")).exit).toBe(0);
  });

  test("SWARM_LOCK=portable does the same with the portable lock", async ({ repository, env }) => {
    const portable: Swarm = (...words) =>
      run({ folder: repository, env: { ...env, SWARM_LOCK: "portable" } }, ...words);
    await portable("state", "init");

    const results = await Promise.all(
      Array.from({ length: 4 }, (_, index) =>
        portable("state", "add", "-", `aimi-${index}`, `${index}.json`, "b"),
      ),
    );

    expect(results.map(({ exit }) => exit)).toEqual([0, 0, 0, 0]);
    expect((await portable("state", "list")).stdout.split("\n")).toHaveLength(5);
  });

  test("a broken file is rebuilt from its copy without any engine, and kept beside it", async ({
    swarm,
    repository,
  }) => {
    await swarm("state", "init");
    await swarm("state", "add", "-", "aimi-one", "one.json", "feat/one");
    const file = write(repository, ".aimi/swarm-state.json", "{ broken");
    expect(await swarm("state", "list")).toMatchObject({
      exit: 3,
      stderr: expect.stringContaining("STATE_INVALID"),
    });

    const repaired = await swarm("state", "repair", "--json");

    expect(JSON.parse(repaired.stdout), repaired.stderr).toMatchObject({ result: "restored from the copy" });
    expect((await swarm("state", "list")).stdout).toBe("aimi-one\tpending\n");
    expect(readdirSync(join(repository, ".aimi/swarms")).some((name) => name.startsWith("unreadable-"))).toBe(
      true,
    );
    expect(existsSync(file)).toBe(true);
  });

  test("with neither copy nor engine a broken file is not replaced by an empty swarm", async ({
    swarm,
    repository,
  }) => {
    await swarm("state", "init");
    const file = write(repository, ".aimi/swarm-state.json", "{ broken");
    write(repository, ".git/aimi/swarm-state.json", "{ broken, too");

    expect(await swarm("state", "repair")).toMatchObject({
      exit: 3,
      stderr: expect.stringContaining("ENGINE_UNREACHABLE"),
    });
    expect(readFileSync(file, "utf8")).toBe("{ broken");
  });

  test("`init --force` keeps what only the copy still had", async ({ swarm, repository }) => {
    const { swarmId }: SwarmState = JSON.parse((await swarm("state", "init", "--json")).stdout);
    git(repository, "clean", "-fdxq");

    expect((await swarm("state", "init", "--force")).exit).toBe(0);

    expect(readdirSync(join(repository, ".aimi/swarms", swarmId))).toHaveLength(1);
  });

  test("`init --force` over a broken file keeps the good copy, too", async ({ swarm, repository }) => {
    const { swarmId }: SwarmState = JSON.parse((await swarm("state", "init", "--json")).stdout);
    await swarm("state", "add", "-", "aimi-one", "one.json", "feat/one");
    write(repository, ".aimi/swarm-state.json", "");

    expect((await swarm("state", "init", "--force")).exit).toBe(0);

    const kept = join(repository, ".aimi/swarms", swarmId);
    expect(readFileSync(join(kept, readdirSync(kept)[0] ?? ""), "utf8")).toContain("aimi-one");
  });

  test("a key that stands twice is no way to empty a state", async ({ swarm, repository }) => {
    await swarm("state", "init");
    await swarm("state", "add", "-", "aimi-one", "one.json", "feat/one");
    const file = join(repository, ".aimi/swarm-state.json");
    const text = readFileSync(file, "utf8").replace(/\n\}\n$/, ',\n  "containers": []\n}\n');
    write(file, "", text);

    expect(await swarm("state", "add", "-", "aimi-two", "two.json", "b")).toMatchObject({
      exit: 3,
      stderr: expect.stringMatching(/STATE_INVALID: .*:\d+:\d+ .*"containers" appears a second time/),
    });
    expect(readFileSync(file, "utf8")).toBe(text);
  });

  test("a state that came with somebody else's repository is not taken for one's own", async ({
    swarm,
    repository,
    folder,
    env,
  }) => {
    await swarm("state", "init");
    git(repository, "add", "--all", "--force");
    git(
      repository,
      "-c",
      "user.name=T",
      "-c",
      "user.email=t@example.invalid",
      "commit",
      "-qm",
      "State and all",
    );
    const clone = join(folder, "clone");
    git(folder, "clone", "-q", repository, clone);

    expect(await run({ folder: clone, env }, "state", "check")).toMatchObject({
      exit: 9,
      stderr: expect.stringContaining("PROJECT_MOVED"),
    });
  });

  test("a damaged identity is said, and made again from the state", async ({ swarm, repository }) => {
    const before: SwarmState = JSON.parse((await swarm("state", "init", "--json")).stdout);
    for (const damage of ["", "null", "[]", '{"id":7}']) {
      write(repository, ".git/aimi/id", damage);
      expect(await swarm("state", "list"), damage).toMatchObject({
        exit: 3,
        stderr: expect.stringContaining("--moved"),
      });
      expect((await swarm("state", "repair", "--moved")).exit, damage).toBe(0);
      expect(JSON.parse((await swarm("state", "status")).stdout).project).toEqual(before.project);
    }
  });

  test("`git clean -fdx` takes the state file; the next command has it again", async ({
    swarm,
    repository,
  }) => {
    await swarm("state", "init");
    await swarm("state", "add", "-", "aimi-one", "one.json", "feat/one");
    git(repository, "clean", "-fdxq");
    expect(existsSync(join(repository, ".aimi"))).toBe(false);

    expect((await swarm("state", "list")).stdout).toBe("aimi-one\tpending\n");
    expect(existsSync(join(repository, ".aimi/swarm-state.json"))).toBe(true);
  });

  test("a worktree inside another one does not show the outer one's swarm", async ({
    swarm,
    repository,
    env,
  }) => {
    await swarm("state", "init");
    const inner = join(repository, "inner");
    git(repository, "worktree", "add", "-q", inner);

    expect(await run({ folder: inner, env }, "status")).toMatchObject({
      exit: 0,
      stdout: "There is no swarm in this worktree.\n",
    });
  });

  test("a linked worktree that is called main is not the main one", async ({ repository, folder }) => {
    const { findRepository } = await import("../../../src/git/find-repository.ts");
    git(repository, "worktree", "add", "-q", join(folder, "main"), "-b", "other");

    expect((await findRepository(join(folder, "main")))?.worktree).toBe("main");
    expect((await findRepository(repository))?.worktree).not.toBe("main");
  });

  test("linked worktrees have a state each and one project", async ({ swarm, repository, folder, env }) => {
    const other = join(folder, "other");
    git(repository, "worktree", "add", "-q", other);

    const [here, there] = [
      await swarm("state", "init", "--json"),
      await run({ folder: other, env }, "state", "init", "--json"),
    ];

    const [one, two]: SwarmState[] = [here, there].map(({ stdout }) => JSON.parse(stdout));
    expect(one?.project.id).toBe(two?.project.id);
    expect(one?.swarmId).not.toBe(two?.swarmId);
  });
});

describe("a project that is found elsewhere", () => {
  test("a copy stops with PROJECT_MOVED until it gets an identity of its own; the original is as it was", async ({
    swarm,
    repository,
    folder,
    env,
  }) => {
    const { project }: SwarmState = JSON.parse((await swarm("state", "init", "--json")).stdout);
    const copy = join(folder, "copy");
    cpSync(repository, copy, { recursive: true });
    const inCopy: Swarm = (...words) => run({ folder: copy, env }, ...words);

    expect(await inCopy("state", "add", "-", "x", "x.json", "x")).toMatchObject({
      exit: 9,
      stderr: expect.stringContaining("PROJECT_MOVED"),
    });
    expect(await inCopy("status")).toMatchObject({ exit: 9, stderr: expect.stringContaining("--moved") });
    expect((await inCopy("state", "repair", "--copied")).exit).toBe(0);

    const repaired: SwarmState = JSON.parse((await inCopy("state", "status")).stdout);
    const original: SwarmState = JSON.parse((await swarm("state", "status")).stdout);
    expect(repaired.project.id).not.toBe(project.id);
    expect(repaired.project.root).toBe(copy);
    expect(original.project).toEqual(project);
  });

  test("a copy cannot be declared moved while the original is there", async ({
    swarm,
    repository,
    folder,
    env,
  }) => {
    await swarm("state", "init");
    const copy = join(folder, "copy");
    cpSync(repository, copy, { recursive: true });

    expect(await run({ folder: copy, env }, "state", "repair", "--moved")).toMatchObject({
      exit: 9,
      stderr: expect.stringContaining("--copied"),
    });
    expect((await swarm("state", "list")).exit).toBe(0);
  });

  test("--copied where nothing was copied changes nothing", async ({ swarm }) => {
    const before = JSON.parse((await swarm("state", "init", "--json")).stdout);

    expect((await swarm("state", "repair", "--copied")).exit).toBe(0);
    expect(JSON.parse((await swarm("state", "status")).stdout)).toEqual(before);
  });

  test("a moved one keeps its identity", async ({ swarm, repository, folder, env }) => {
    const { project }: SwarmState = JSON.parse((await swarm("state", "init", "--json")).stdout);
    const moved = join(folder, "moved");
    renameSync(repository, moved);
    const inMoved: Swarm = (...words) => run({ folder: moved, env }, ...words);

    expect(await inMoved("state", "check")).toMatchObject({
      exit: 9,
      stderr: expect.stringContaining("PROJECT_MOVED"),
    });
    expect((await inMoved("state", "repair", "--moved")).exit).toBe(0);
    expect(JSON.parse((await inMoved("state", "status")).stdout).project).toMatchObject({
      id: project.id,
      root: moved,
    });
  });
});

describe("trust", () => {
  const widening = '{\n  "allow": ["example.org:443"]\n}\n';

  test("an untrusted project file that widens something: refused with its line; trusted: taken; changed: refused again", async ({
    swarm,
    repository,
  }) => {
    writeTask(repository, "a-tasks.json", taskFileWith());
    const file = write(repository, ".aimi/config.json", widening);
    const refused = {
      exit: 2,
      stderr: expect.stringMatching(
        /^error UNTRUSTED: \.aimi\/config\.json:2:12 \(\/allow\): allow lets the agent connect to more hosts, but you have not trusted this file\nhint: /,
      ),
    };

    expect(await swarm("plan")).toMatchObject(refused);
    expect((await swarm("config", "explain")).stdout).toMatch(
      /^allow +none +default \(\.aimi\/config\.json lets the agent connect to more hosts and is not trusted\)$/m,
    );
    expect(await swarm("trust")).toMatchObject({
      exit: 2,
      stderr: expect.stringContaining("error WOULD_ASK"),
    });
    expect(await swarm("plan")).toMatchObject(refused);

    expect(await swarm("trust", "--yes")).toMatchObject({
      exit: 0,
      stdout: "These files are trusted until they change: .aimi/config.json\n",
      stderr: expect.stringContaining(".aimi/config.json:2:12"),
    });
    expect((await swarm("plan")).exit).toBe(0);
    expect((await swarm("config", "explain")).stdout).toMatch(/^allow +example\.org:443 +project$/m);

    appendFileSync(file, "\n");
    expect(await swarm("plan")).toMatchObject(refused);
  });

  test("a task file that asks for more is trusted the same way", async ({ swarm, repository }) => {
    writeTask(repository, "a-tasks.json", taskFileWith({ metadata: { dockerImage: "mine:1" } }));

    expect(await swarm("plan")).toMatchObject({
      exit: 2,
      stderr: expect.stringContaining("metadata.dockerImage chooses the image"),
    });
    expect((await swarm("trust", "--yes")).exit).toBe(0);
    expect((await swarm("plan")).exit).toBe(0);

    writeTask(repository, "a-tasks.json", taskFileWith({ metadata: { dockerImage: "mine:2" } }));
    expect((await swarm("plan")).exit).toBe(2);
  });

  test("plan and trust agree on a budget, wherever it was set", async ({ repository, env }) => {
    writeTask(repository, "a-tasks.json", taskFileWith({ metadata: { budgetUsd: 10 } }));
    const frugal: Swarm = (...words) =>
      run({ folder: repository, env: { ...env, SWARM_WORKER_BUDGET_USD: "5" } }, ...words);

    expect(await frugal("plan")).toMatchObject({
      exit: 2,
      stderr: expect.stringContaining("raises the budget"),
    });
    expect(await frugal("trust", "--yes")).toMatchObject({
      exit: 0,
      stdout: expect.stringContaining("a-tasks.json"),
    });
    expect((await frugal("plan")).exit).toBe(0);
  });

  test("links that a repository brings along lead nowhere: not for trust, not for writing", async ({
    swarm,
    repository,
    folder,
  }) => {
    const outside = write(folder, "outside/config.json", widening);
    const profile = write(folder, "outside/profile", "mine\n");
    mkdirSync(join(repository, ".aimi"));
    symlinkSync(outside, join(repository, ".aimi/config.json"));
    symlinkSync(profile, join(repository, ".aimi/.gitignore"));

    expect(await swarm("config", "explain")).toMatchObject({
      exit: 2,
      stderr: expect.stringContaining("outside the repository"),
    });
    expect(await swarm("init")).toMatchObject({
      exit: 3,
      stderr: expect.stringContaining("outside the repository"),
    });
    expect(readFileSync(profile, "utf8")).toBe("mine\n");
  });

  test("an .aimi that leads out of the repository is not used", async ({ swarm, repository, folder }) => {
    mkdirSync(join(folder, "elsewhere"));
    symlinkSync(join(folder, "elsewhere"), join(repository, ".aimi"));

    for (const words of [["init"], ["state", "init"], ["plan"]])
      expect((await swarm(...words)).exit).toBeGreaterThan(0);
    expect(readdirSync(join(folder, "elsewhere"))).toEqual([]);
  });

  test("trust given at once in several repositories is all kept", async ({ folder, env }) => {
    const repositories = ["a", "b", "c", "d", "e", "f"].map((name) => join(folder, name));
    for (const repository of repositories) {
      git(folder, "init", "-q", repository);
      write(repository, ".aimi/config.json", widening);
    }

    await Promise.all(repositories.map((repository) => run({ folder: repository, env }, "trust", "--yes")));

    const explained = await Promise.all(
      repositories.map((repository) => run({ folder: repository, env }, "config", "explain")),
    );
    expect(explained.map(({ stdout }) => /^allow +example\.org:443 +project$/m.test(stdout))).toEqual(
      repositories.map(() => true),
    );
  });

  test("nothing to trust is said", async ({ swarm }) => {
    expect(await swarm("trust")).toMatchObject({
      exit: 0,
      stdout: "No file of this project still needs to be trusted.\n",
    });
  });

  test("the user's own settings need no trust, and a flag comes before everything", async ({
    swarm,
    env,
  }) => {
    write(env["XDG_CONFIG_HOME"] ?? "", "aimi/config.json", '{"allow": ["example.org:443"], "parallel": 3}');

    const { stdout } = await swarm("config", "explain", "--parallel", "7");

    expect(stdout).toMatch(/^allow +example\.org:443 +user$/m);
    expect(stdout).toMatch(/^parallel +7 +flag$/m);
  });
});

describe("completion", () => {
  test("completes commands, subcommands and flags in a real bash", async ({ swarm, folder }) => {
    const { stdout } = await swarm("completion", "bash");
    const script = write(folder, "completion.bash", stdout);
    const complete = (...words: string[]): string =>
      execFileSync(
        "bash",
        [
          "-c",
          `source "$0"; COMP_WORDS=(${words.map((word) => `'${word}'`).join(" ")}); COMP_CWORD=${words.length - 1}; _swarm; echo "\${COMPREPLY[*]}"`,
          script,
        ],
        { encoding: "utf8", cwd: folder },
      ).trim();

    expect(complete("swarm", "sta")).toBe("start status state statusline");
    expect(complete("swarm", "state", "re")).toBe("remove repair");
    expect(complete("swarm", "state", "update", "--st")).toBe("--status --story-progress");
  });

  test.for(["bash", "zsh", "fish"])("%s knows every command", async (shell, { swarm }) => {
    const { exit, stdout } = await swarm("completion", shell);

    expect(exit).toBe(0);
    for (const { name, hidden } of commands) if (!hidden) expect(stdout).toContain(name.split(" ")[0]);
  });
});

describe("bin/swarm", () => {
  test("works through a link on the path", ({ folder, env, repository }) => {
    symlinkSync(join(root, "bin/swarm"), join(folder, "swarm"));

    expect(
      spawnSync(join(folder, "swarm"), ["--version"], {
        encoding: "utf8",
        cwd: repository,
        env: { ...process.env, ...env },
      }).status,
    ).toBe(0);
  });

  test("with a Node that is too old, or none, it says what to install; unbuilt, what to run", ({
    folder,
  }) => {
    const clone = join(folder, "clone");
    mkdirSync(join(clone, "bin"), { recursive: true });
    cpSync(join(root, "bin/swarm"), join(clone, "bin/swarm"));
    const start = (path: string) =>
      spawnSync(join(clone, "bin/swarm"), [], { encoding: "utf8", env: { PATH: path } });
    expect(start("/bin:/usr/bin")).toMatchObject({
      status: 3,
      stderr: expect.stringContaining("npm run build"),
    });

    write(clone, "dist/main.cjs", "");
    const old = join(folder, "old");
    chmodSync(
      write(old, "node", '#!/bin/sh\n[ "$1" = --version ] && echo v20.1.0 && exit 0\nexit 1\n'),
      0o755,
    );
    expect(start(`${old}:/bin:/usr/bin`)).toMatchObject({
      status: 3,
      stderr: expect.stringMatching(/error NODE_TOO_OLD: .*is running on Node v20\.1\.0\nhint: /),
    });
  });
});

plainTest("every command that the help shows has a description and is loaded only when it runs", () => {
  for (const { description, load, commands: children } of commands) {
    expect(description).toMatch(/^[a-z]/);
    expect(Boolean(load) || Boolean(children)).toBe(true);
  }
});
