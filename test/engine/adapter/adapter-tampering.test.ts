import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { closeSync, openSync } from "node:fs";
import { describe, expect, inject, test } from "vitest";
import type { AcpMessage, StoryProgress, TaskRequestPayload } from "../../../src/contract/acp.ts";
import { count } from "../../counts.ts";
import { attackProgram } from "../../fakes/engine/container-attacks.ts";
import { openEngine } from "../../fakes/engine/engine-at.ts";
import { git } from "../../fakes/git/repository.ts";
import {
  type Attached,
  fetchBundle,
  scripted,
  startWorker,
  story,
  type Worker,
} from "../../fakes/swarm/worker.ts";

const engine = openEngine(inject("endpoint"));
const { runtimes } = await engine.info();
const canary = "canary-5d47";

/** Tries attacks as a user of the container: all of them, or those that are named. */
async function attack(
  worker: Worker,
  user: "0:0" | "1000:1000",
  names: readonly string[] = [],
): Promise<Record<string, string>> {
  const { code, text } = await worker.run(["python3", "-c", attackProgram, ...names], user);
  if (code !== 0) throw new Error(text);
  return JSON.parse(text);
}

/** A story that a shell carries out as the agent's user. */
interface Trick {
  readonly id: string;
  readonly shell: string;
  readonly verify?: string[];
}

const identity = "export GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@x GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a@x";

function tricks(
  worker: Pick<Worker, "base">,
  list: readonly Trick[],
  changes: Partial<TaskRequestPayload> = {},
): TaskRequestPayload {
  return scripted(
    worker,
    Object.fromEntries(list.map(({ id, shell }) => [id, [{ run: ["sh", "-c", `${identity}; ${shell}`] }]])),
    {
      stories: list.map(({ id, verify }) => story(id, verify ? { verify } : {})),
      ...changes,
    },
  );
}

function endsOf({ messages }: Attached): Record<string, StoryProgress> {
  return Object.fromEntries(
    messages.flatMap((message) =>
      message.type === "progress-update" && message.payload.status !== "in_progress"
        ? [[message.payload.storyId, message.payload]]
        : [],
    ),
  );
}

/** To its last message. A line that was lost is no lost worker: it is made again. */
async function follow(
  worker: Worker,
  request: TaskRequestPayload,
): Promise<{ readonly line: Attached; readonly last: AcpMessage }> {
  for (;;) {
    const line = await worker.attach();
    await line.send("task-request", request);
    const last = await line.until(({ type }) => type === "completion" || type === "error").catch(() => null);
    if (last) return { line, last };
    await line[Symbol.asyncDispose]();
  }
}

/** Carries the stories out to the end; the end of each, and the work as the host's git gets it. */
async function carryOut(
  worker: Worker,
  request: TaskRequestPayload,
): Promise<{
  readonly ends: Record<string, string>;
  readonly progress: Record<string, StoryProgress>;
  readonly code: number;
  /** A file's content on the branch. */
  show(path: string, ref?: string): string;
  files(): string[];
}> {
  const { line, last } = await follow(worker, request);
  await using _line = line;
  const isWhole = last.type === "completion";
  const stored = isWhole && last.payload.bundle !== null ? await worker.read(last.payload.bundle) : null;
  await line.send("ack", { seq: "seq" in last ? last.seq : 0 });
  if (stored) fetchBundle(worker.repository, stored, "refs/heads/feat/work");
  else git(worker.repository, "update-ref", "refs/fetched", worker.base);
  const progress = endsOf(line);
  const ends = Object.fromEntries(
    Object.entries(progress).map(([id, { status, reason }]) => [
      id,
      reason ? `${status} ${reason.code}` : status,
    ]),
  );
  return {
    ends: last.type === "error" ? { ...ends, error: `${last.payload.code} ${last.payload.message}` } : ends,
    progress,
    code: await worker.ended(),
    show: (path, ref = "refs/fetched") => git(worker.repository, "show", `${ref}:${path}`),
    files: () => git(worker.repository, "ls-tree", "-r", "--name-only", "refs/fetched").trim().split("\n"),
  };
}

/** What is nobody's danger: gVisor keeps no environment secret, in which there is none, and its namespaces are its own. */
const allowedToAll: Readonly<Record<string, readonly string[]>> = {
  runc: [],
  runsc: ["read its environment", "see its files", "new user namespace", "new mount namespace"],
};

/** A root of three capabilities may not do these either. A mount and a folder of the image cannot be moved by anybody. */
const refusedToRoot: Readonly<Record<string, readonly string[]>> = {
  runc: [
    ...["trace it", "open its memory", "mount over /aimi", "mount over /workspace", "unmount /aimi"],
    ...["new user namespace", "new mount namespace", "move the folder", "move /aimi"],
  ],
  runsc: [
    ...["reach it through /proc", "see its folder", "trace it", "open its memory", "mount over /aimi"],
    ...["mount over /workspace", "unmount /aimi", "move the folder", "move /aimi"],
  ],
};

const available = ["runc", "runsc"].slice(0, count.runtimes).filter((runtime) => runtimes.includes(runtime));

describe.each(available)("against the supervisor under %s", (runtime) => {
  test("nothing that the agent tries succeeds, and the journal is what was told", async () => {
    await using worker = await startWorker(engine, { runtime });
    await using line = await worker.attach();
    const tryAll = 'python3 -c "$ATTACKS" > ~/outcomes.json; echo tried; exec sleep 3600';
    await line.send("credentials", { env: { TOKEN: canary } });
    await line.send(
      "task-request",
      scripted(
        worker,
        { "US-001": [] },
        {
          agent: { kind: "command", command: ["sh", "-c", tryAll], env: { ATTACKS: attackProgram } },
        },
      ),
    );
    await line.untilType("activity");

    const outcomes = JSON.parse((await worker.run(["cat", "/home/agent/outcomes.json"], "1000:1000")).text);
    const known = await worker.run(["sh", "-c", "cat /proc/$(pgrep -of 'adapter.mjs supervise')/environ"]);
    await line.send("cancel", { reason: "enough", graceMs: 0 });
    const { payload, seq } = await line.untilType("completion");
    const journal = (await worker.read("/aimi/journal.ndjson")).toString().trim().split("\n");
    await line.send("ack", { seq });

    expect(Object.keys(outcomes).length).toBeGreaterThan(55);
    expect(Object.keys(outcomes).filter((name) => outcomes[name] === "done")).toEqual(allowedToAll[runtime]);
    expect(journal.map((text) => JSON.parse(text))).toEqual(
      line.messages.filter((message) => "seq" in message),
    );
    expect(known.text).toContain("AIMI_SWARM_ID");
    expect(known.text).not.toContain(canary);
    expect(journal.join()).not.toContain(canary);
    expect(payload.status).toBe("stopped");
    expect(await worker.ended()).toBe(143);
  });

  test("control: who is root in the container can do most of it", async () => {
    await using worker = await startWorker(engine, { runtime });
    await using line = await worker.attach();
    await line.send(
      "task-request",
      scripted(worker, { "US-001": [{ say: "waiting" }, { sleepMs: 600_000 }] }),
    );
    await line.untilType("activity");
    const before = await worker.read("/aimi/journal.ndjson");

    const outcomes = await attack(worker, "0:0");
    const refused = Object.keys(outcomes).filter((name) => outcomes[name] !== "done");

    // An attack that a busy machine does not let finish in its time is no defence of ours: this is the control.
    expect(refused.length).toBeLessThanOrEqual((refusedToRoot[runtime]?.length ?? 0) + 2);
    expect((await worker.read("/aimi/journal.ndjson")).equals(before)).toBe(false);
  });
});

test("control: outside of a container root may do the rest as well", async () => {
  execFileSync("unshare", ["--mount", "sh", "-c", "mount -t tmpfs none /mnt && umount /mnt"]);
  execFileSync("unshare", ["--user", "true"]);
  const child = spawn(process.execPath, ["--eval", "setInterval(() => {}, 1000)"]);
  await once(child, "spawn");

  closeSync(openSync(`/proc/${child.pid}/mem`, "r+"));
  child.kill("SIGKILL");
});

/** A story that writes a file, and whose check reads it. */
const honest = (id: string): Trick => ({
  id,
  shell: `echo honest > ${id}.txt`,
  verify: [`grep -q honest ${id}.txt`],
});

/** Programs that do not want to end with the turn; they begin once they are nobody's children. */
const begin = "import os, signal, time\nwhile os.getppid() != 1: time.sleep(0.001)\n";
const programs = {
  LURK: `${begin}
while True:
    open("/workspace/watched.txt", "w").write(str(time.time()))
    time.sleep(0.001)`,
  // Nobody but whoever is stronger comes to anything beside these.
  KILL_ALL: `${begin}
while True:
    try: os.kill(-1, signal.SIGKILL)
    except OSError: pass`,
  STOP_ALL: `${begin}
while True:
    try: os.kill(-1, signal.SIGSTOP)
    except OSError: pass`,
  RUN_AWAY: `${begin}
while True:
    if os.fork() > 0: os._exit(0)
    os.setsid()`,
  MULTIPLY: `${begin}
while True:
    try: os.fork()
    except OSError: pass`,
  FILL: `${begin}
while True:
    try:
        if os.fork() == 0: time.sleep(600)
    except OSError: time.sleep(600)`,
  DEAF: `${begin}
for number in range(1, 32):
    if number not in (9, 19): signal.signal(number, signal.SIG_IGN)
while True: time.sleep(600)`,
} as const;

/** Fails while one of these programs is there. The check's own line says `[L]URKER`. */
const noneLeft = "! grep -aqs '[L]URKER' /proc/[0-9]*/cmdline";
const isStill =
  'a=$(cat watched.txt); for i in $(seq 200); do cat README.md >/dev/null; done; [ "$a" = "$(cat watched.txt)" ]';

const survivors: readonly [name: string, shell: string][] = [
  ["in a session of its own", 'setsid python3 -c "$LURK" LURKER &'],
  ["by a double fork", "(setsid sh -c 'python3 -c \"$LURK\" LURKER & exit' &)"],
  ["deaf to every signal", 'setsid python3 -c "$DEAF" LURKER &'],
  ["by ever new processes", 'setsid python3 -c "$RUN_AWAY" LURKER &'],
  ["by a fork bomb", 'setsid python3 -c "$MULTIPLY" LURKER &'],
  ["by taking every process that there may be", 'setsid python3 -c "$FILL" LURKER &'],
  ["by ending whoever comes to end it", 'setsid python3 -c "$KILL_ALL" LURKER &'],
  ["by stopping whoever comes to end it", 'setsid python3 -c "$STOP_ALL" LURKER &'],
];

describe.each(available)("processes that want to outlive the turn under %s", (runtime) => {
  // gVisor is slow to start; and a fork bomb takes the processor from its supervisor, so that the host has to end it.
  const some =
    runtime === "runc" ? survivors : survivors.filter(([name]) => /double|ever new|stopping/.test(name));
  test.each(some)("%s: none is left when the checks run", async (_name, shell) => {
    await using worker = await startWorker(engine, {
      runtime,
      ...(runtime === "runc" ? { limits: { pids: 100 } } : {}),
    });
    // The agent is the shell itself: when it has ended, what it left is alone with the supervisor.
    const agent = `[ $AIMI_STORY_ID = US-002 ] && echo 2 > 2.txt && exit; echo 1 > watched.txt; ${shell}`;
    const { ends, code } = await carryOut(worker, {
      ...tricks(worker, [
        { id: "US-001", shell: "", verify: [noneLeft, isStill] },
        { id: "US-002", shell: "" },
      ]),
      agent: { kind: "command", command: ["sh", "-c", agent], env: programs },
    });

    expect({ ends, code }).toEqual({ ends: { "US-001": "completed", "US-002": "completed" }, code: 0 });
  });
});

test("control: the end of the process group alone leaves a program behind that went into a session of its own", async () => {
  await using worker = await startWorker(engine);
  const lurk = `setsid python3 -c ${JSON.stringify("import time; time.sleep(600)")} LURKER`;

  await worker.run(["setsid", "--wait", "sh", "-c", `${lurk} & sleep 600 & kill -KILL -- -$$`], "1000:1000");
  const { code } = await worker.run(["sh", "-c", noneLeft], "1000:1000");

  expect(code).toBe(1);
});

/** Leaves a trace when it is run, whoever runs it. */
const trace = (name: string): string => `touch /home/agent/ran-${name}`;

const poison = `
mkdir -p .git/hooks
for hook in pre-commit post-checkout post-commit reference-transaction post-index-change post-merge pre-auto-gc; do
  printf '#!/bin/sh\n${trace("hook")}\n' > .git/hooks/$hook; chmod +x .git/hooks/$hook
done
mkdir -p /tmp/own && cp .git/hooks/pre-commit /tmp/own/
printf '[core]\nfsmonitor = "${trace("include")}; false"\n' > .git/included
git config include.path included
git config core.fsmonitor '${trace("fsmonitor")}; false'
git config core.sshCommand '${trace("ssh")}'
git config core.editor '${trace("editor")}'
git config core.pager '${trace("pager")}'
git config core.alternateRefsCommand '${trace("alternate")}'
git config alias.add '!${trace("alias")}'
git config gpg.program /home/agent/gpg
git config commit.gpgSign true
git config log.showSignature true
git config diff.external '${trace("diff")}'
git config filter.evil.clean '${trace("clean")}; sed s/right/wrong/'
git config filter.evil.smudge '${trace("smudge")}; sed s/right/wrong/'
git config filter.evil.required true
git config "filter.with a.dot.process" '${trace("process")}'
git config core.autocrlf true
git config core.fileMode false
git config core.ignoreStat true
git config submodule.recurse true
`;

const poisoned: readonly Trick[] = [
  {
    id: "US-001",
    shell: `${poison}\nprintf '*.txt filter=evil\n*.md filter="with a.dot"\n' > .gitattributes; echo right > a.txt`,
    verify: ["grep -q right a.txt"],
  },
  {
    id: "US-002",
    shell: `git init --quiet app; git -C app config core.fsmonitor '${trace("nested")}; false'; echo right > app/b.txt`,
    verify: ["grep -q right app/b.txt"],
  },
];

const gitTricks: readonly Trick[] = [
  {
    id: "US-002",
    shell: "git update-index --assume-unchanged README.md; echo two >> README.md",
    verify: ["grep -q two README.md"],
  },
  {
    id: "US-003",
    shell:
      "git update-index --skip-worktree README.md; cp .git/index .git/aimi-index; echo three >> README.md",
    verify: ["grep -q three README.md"],
  },
  {
    id: "US-004",
    shell:
      "git checkout --quiet -b other; echo 4 > 4.txt; git add 4.txt; git commit --quiet --no-verify -m other",
    verify: ["test -e 4.txt"],
  },
  {
    id: "US-005",
    shell:
      "git checkout --quiet --detach; echo 5 > 5.txt; git add 5.txt; git commit --quiet --no-verify -m detached; echo more >> 5.txt",
  },
  {
    id: "US-006",
    shell:
      "touch .git/index.lock .git/HEAD.lock .git/config.lock .git/refs/heads/feat/work.lock .git/aimi-index.lock .git/packed-refs.lock; echo 6 > 6.txt",
  },
  {
    id: "US-007",
    shell:
      "mkdir -p /tmp/elsewhere; echo 7 > 7.txt; echo stolen > /tmp/elsewhere/7.txt; git config core.worktree /tmp/elsewhere",
    verify: ["grep -q 7 7.txt"],
  },
  {
    id: "US-008",
    shell:
      "mkdir -p app; cd app; git init --quiet; echo 8 > 8.txt; git add 8.txt; git commit --quiet -m nested",
    verify: ["grep -q 8 app/8.txt"],
  },
  { id: "US-009", shell: "git worktree add --quiet -f /tmp/tree feat/work; echo 9 > 9.txt" },
  {
    id: "US-010",
    shell:
      "echo 10 > 10.txt; mkdir shut; echo 10 > shut/in.txt; chmod 000 10.txt shut .git/objects .git/refs; chmod 000 /workspace",
  },
  {
    id: "US-011",
    shell: `n=${"d".repeat(250)}; touch "$n" "$(printf 'a\\nb')" -- --output=x '$(touch x)'
      m=${"e".repeat(250)}; for i in $(seq 20); do mkdir $m && cd -P $m || break; done; touch deep; echo end`,
    verify: ["true"],
  },
  {
    id: "US-012",
    shell: "git config core.sparseCheckout true; echo /nothing > .git/info/sparse-checkout; echo 12 > 12.txt",
    verify: ["grep -q 12 12.txt"],
  },
  {
    id: "US-013",
    shell: "mkdir ignored; echo ignored > .gitignore; echo 13 > 13.txt",
    verify: ["mkdir -p droppings/deep; touch droppings/deep/x; chmod 555 droppings/deep droppings"],
  },
  {
    id: "US-014",
    shell:
      "mkfifo pipe app/pipe; python3 -c 'import socket; socket.socket(socket.AF_UNIX).bind(\"sock\")'; ln -s /dev/zero zero; echo 14 > 14.txt",
  },
  {
    id: "US-015",
    shell: "echo 15 > 15.txt; git replace HEAD HEAD~1; git commit --quiet --no-verify --allow-empty -m onTop",
    verify: ["test -e 15.txt"],
  },
  {
    id: "US-016",
    shell: `mkfifo /tmp/p; rm -f .git/index .git/aimi-wip-index .git/aimi-index
      for each in index aimi-index aimi-wip-index; do ln -s /tmp/p .git/$each; done; echo 16 > 16.txt`,
  },
  {
    id: "US-017",
    shell: `git config filter.f.clean 'sed s/good/evil/'; printf '17.txt filter=f\n' > .gitattributes
      rm -rf .git/info; echo file > .git/info; echo good > 17.txt`,
    verify: ["grep -q good 17.txt"],
  },
  {
    id: "US-018",
    shell: `echo '18*' > /tmp/hidden; git config core.excludesFile /tmp/hidden; rm -rf .git/info; mkdir .git/info
      echo 18.txt > .git/info/exclude; echo 18 > 18.txt`,
    verify: ["grep -q 18 18.txt"],
  },
];

describe("a repository that the agent has poisoned", () => {
  test("runs nothing of it, and its filters change nothing of what was checked", async () => {
    await using worker = await startWorker(engine);
    const { ends, show } = await carryOut(worker, tricks(worker, poisoned));
    await worker.start();
    const ran = await worker.run(["sh", "-c", "ls /home/agent | grep ran- || true"], "1000:1000");

    expect(ends).toEqual({ "US-001": "completed", "US-002": "completed" });
    expect(ran.text).toBe("");
    expect(show("a.txt")).toBe("right\n");
    expect(show("app/b.txt")).toBe("right\n");
  });

  test("hides nothing and takes nothing away: what is committed is what was checked", async () => {
    await using worker = await startWorker(engine);
    const { ends, progress, code, show, files } = await carryOut(worker, tricks(worker, gitTricks));
    const why = Object.values(progress).flatMap(({ reason }) => (reason ? [reason.message] : []));

    expect({ ends, why, code }).toEqual({
      ...{ ends: Object.fromEntries(gitTricks.map(({ id }) => [id, "completed"])), why: [], code: 0 },
    });
    expect(show("README.md")).toBe("# A sample\ntwo\nthree\n");
    expect(show("5.txt")).toBe("5\nmore\n");
    expect(show("7.txt")).toBe("7\n");
    expect(show("app/8.txt")).toBe("8\n");
    expect(show("shut/in.txt")).toBe("10\n");
    expect(show("12.txt")).toBe("12\n");
    expect(show("17.txt")).toBe("good\n");
    expect(show("18.txt")).toBe("18\n");
    expect(files()).toEqual(
      expect.arrayContaining([
        "4.txt",
        "6.txt",
        "9.txt",
        "10.txt",
        "13.txt",
        "14.txt",
        "15.txt",
        "d".repeat(250),
      ]),
    );
    expect(files().filter((file) => file.startsWith("droppings"))).toEqual([]);
    // Each story stands on the one before.
    for (const { id } of gitTricks) {
      const { commit } = progress[id] ?? {};
      if (commit) expect(git(worker.repository, "merge-base", commit, "refs/fetched").trim()).toBe(commit);
    }
  });

  test("control: git as it is runs all of that, and leaves out what it was told to overlook", async () => {
    await using worker = await startWorker(engine);
    const plain = `set -e; cd /tmp; git init --quiet plain; cd plain; git config user.name x; git config user.email x@example.invalid
      echo right > a.txt; echo readme > README.md; git add README.md; git commit --quiet -m begin
      ${poison}
      git config commit.gpgSign false
      printf '*.txt filter=evil\n' > .gitattributes; git add --all; git update-index --assume-unchanged README.md; echo two >> README.md
      git add --all; git commit --quiet -m more; git show HEAD:a.txt HEAD:README.md; ls /home/agent`;

    const { text } = await worker.run(["sh", "-c", plain], "1000:1000");

    expect(text).toContain("wrong");
    expect(text).not.toContain("two");
    expect(text).toContain("ran-hook");
    expect(text).toContain("ran-include");
    expect(text).toContain("ran-clean");
  });
});

const rewriting: readonly [name: string, shell: string][] = [
  [
    "with an orphan",
    "git checkout --quiet --orphan o; git commit --quiet -m o; git branch -f feat/work o; git checkout --quiet feat/work",
  ],
  ["with an amended commit", "git commit --quiet --amend -m changed"],
  ["by going back", "git reset --quiet --hard HEAD~1"],
  [
    "with a graft that hides it",
    "good=$(git rev-parse HEAD); git checkout --quiet --orphan o3; git commit --quiet -m o3; echo $(git rev-parse HEAD) $good > .git/info/grafts; git branch -f feat/work o3; git checkout --quiet feat/work",
  ],
  [
    "with a replacement that hides it",
    "good=$(git rev-parse HEAD); git checkout --quiet --orphan o4; git commit --quiet -m o4; git replace $(git rev-parse HEAD) $(git commit-tree HEAD^{tree} -p $good -m o); git branch -f feat/work o4; git checkout --quiet feat/work",
  ],
];

describe("a branch whose good commits are gone", () => {
  test("fails its story with HISTORY_REWRITTEN, and the next stories stand on the good commit", async () => {
    await using worker = await startWorker(engine);
    const list: Trick[] = [
      honest("US-001"),
      ...rewriting.map(([, shell], index) => ({
        id: `US-10${index}`,
        shell,
        verify: ["true"],
      })),
      honest("US-200"),
    ];

    const { ends, progress, code, files } = await carryOut(worker, tricks(worker, list));

    expect(ends).toEqual({
      "US-001": "completed",
      ...Object.fromEntries(rewriting.map((_each, index) => [`US-10${index}`, "failed HISTORY_REWRITTEN"])),
      "US-200": "completed",
    });
    expect(code).toBe(1);
    expect(files()).toEqual(["README.md", "US-001.txt", "US-200.txt"]);
    expect(progress["US-100"]?.failedWork?.bundle).toBe("/aimi/out/failed-US-100.bundle");
  });

  test("control: a graft and a replacement deceive git as it is", async () => {
    await using worker = await startWorker(engine);
    const plain = `cd /tmp; git init --quiet plain; cd plain; export GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@x GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a@x
      git commit --quiet --allow-empty -m good; good=$(git rev-parse HEAD); git checkout --quiet --orphan o; git commit --quiet --allow-empty -m o
      git merge-base --is-ancestor $good HEAD && echo before; git replace $(git rev-parse HEAD) $(git commit-tree HEAD^{tree} -p $good -m o)
      git merge-base --is-ancestor $good HEAD && echo after`;

    expect((await worker.run(["sh", "-c", plain], "1000:1000")).text.trim()).toBe("after");
  });
});

const broken: readonly [name: string, shell: string][] = [
  ["deletes .git", "rm -rf .git"],
  ["puts a link in the place of .git", "mv .git /tmp/away; ln -s /tmp/away .git; rm -rf /tmp/away/objects"],
  ["puts a file in the place of .git", "rm -rf .git; echo 'gitdir: /nowhere' > .git"],
  [
    "tears the index, the configuration and HEAD",
    "echo x > .git/index; echo '[' > .git/config; echo x > .git/HEAD",
  ],
  ["takes the objects away", "rm -rf .git/objects/*"],
  ["makes git wait for a pipe", "rm .git/config; mkfifo .git/config"],
  ["makes git wait for a pipe among the files", "mkfifo .gitignore .gitattributes"],
  ["makes git wait for a pipe behind a link", "mkfifo /tmp/pipe; ln -sf /tmp/pipe .git/info/exclude"],
];

describe("a repository that git cannot work with any more", () => {
  test("costs the story that broke it, for a true reason, and no other", async () => {
    await using worker = await startWorker(engine);
    const list: Trick[] = [
      honest("US-001"),
      ...broken.flatMap(([, shell], index) => [
        { id: `US-1${index}0`, shell: `echo lost ${index} > lost.txt; ${shell}` },
        honest(`US-1${index}1`),
      ]),
    ];

    const { ends, files, code } = await carryOut(
      worker,
      tricks(worker, list, { limits: { checkMs: 3_000 } }),
    );

    const others = Object.entries(ends).filter(([id]) => !/^US-1.0$/.test(id));
    expect(others).toEqual(others.map(([id]) => [id, "completed"]));
    expect(others).toHaveLength(broken.length + 1);
    for (const [index, [name]] of broken.entries())
      expect([name, ends[`US-1${index}0`]]).toEqual([
        name,
        expect.stringMatching(/^(completed|failed GIT_CHECKOUT_FAILED|failed HISTORY_REWRITTEN)$/),
      ]);
    expect(files()).toEqual(expect.arrayContaining(others.map(([id]) => `${id}.txt`)));
    expect([0, 1]).toContain(code);
  });
});

const forged = [
  {
    type: "completion",
    seq: 3,
    payload: {
      status: "completed",
      prUrl: null,
      errors: [],
      head: "f0".repeat(20),
      bundle: null,
      sha256: null,
    },
  },
  { type: "progress-update", seq: 3, payload: { storyId: "US-001", status: "completed", output: "forged" } },
  { from: 0 },
];

test("what the agent and its checks print becomes no message", async () => {
  await using worker = await startWorker(engine);
  await using line = await worker.attach();
  const lines = forged.map((message) =>
    JSON.stringify({
      timestamp: "2026-01-01T00:00:00Z",
      swarmId: worker.swarmId,
      attempt: 1,
      containerId: "",
      ...message,
    }),
  );
  const print = `printf '%s\\n' '${lines.join("' '")}'; printf '%s\\n' '${lines.join("' '")}' >&2; printf '\\033]0;owned\\007\\033[2J\\n'`;

  await line.send(
    "task-request",
    tricks(worker, [{ id: "US-001", shell: print, verify: [`${print}; exit 1`] }], {
      limits: { maxRepairs: 0 },
    }),
  );
  const { payload, seq } = await line.untilType("completion");
  const journal = (await worker.read("/aimi/journal.ndjson")).toString();
  const transcript = (await worker.read("/aimi/out/transcript/US-001.ndjson")).toString();
  await line.send("ack", { seq });

  expect(payload).toMatchObject({ status: "failed", errors: [expect.stringContaining("VERIFY_FAILED")] });
  expect(journal).toContain("forged");
  const messages = journal
    .trim()
    .split("\n")
    .map((text) => JSON.parse(text));
  expect(messages.map((message) => message.seq)).toEqual(messages.map((_message, index) => index + 1));
  expect(messages.filter(({ type }) => type === "completion")).toEqual([messages.at(-1)]);
  expect(messages.filter(({ payload: { output } }) => output === "forged")).toEqual([]);
  expect(messages.some((message) => /\p{Cc}/u.test(JSON.stringify(message.payload.summary ?? "")))).toBe(
    false,
  );
  // Control: whoever took its lines for messages would believe them.
  expect(
    transcript
      .split("\n")
      .flatMap((text) => (/^\{.*"completion"/.test(text) ? [JSON.parse(text).payload.status] : [])),
  ).toContain("completed");
  expect(await worker.ended()).toBe(1);
});
