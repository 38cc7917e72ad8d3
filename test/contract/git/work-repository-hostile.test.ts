import { chmodSync, existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, vi } from "vitest";
import type { BundleToImport } from "../../../src/git/work-repository-port.ts";
import { test } from "../../fakes/folders.ts";
import {
  blob,
  bundleOf,
  commit,
  deltaBomb,
  idOf,
  packOf,
  type RawObject,
  tree,
} from "../../fakes/git/bundles.ts";
import { poisons } from "../../fakes/git/poisons.ts";
import { git } from "../../fakes/git/repository.ts";
import {
  agentOf,
  at,
  bundleFrom,
  commitAsTester,
  everythingIn,
  expectTidy,
  handMade,
  head,
  headerOf,
  keep,
  oneCommit,
  refusal,
  repositoryAt,
  workIn,
  workOf,
} from "../../fakes/git/work.ts";

commitAsTester();

describe("a stream that is not what was stored", () => {
  test("is refused for a wrong checksum, a byte too many, a cut, a commit that is none", async ({
    repository,
    folder,
  }) => {
    const { base, tip, bytes, work } = oneCommit(repository, folder);

    expect(await refusal(repository, { ...work(), sha256: "0".repeat(64) })).toBe("checksum");
    expect(await refusal(repository, { ...work(), maxBytes: bytes.length - 1 })).toBe("too-large");
    expect(await refusal(repository, workOf(bytes.subarray(0, -30), { base, tip }))).toBe("pack");
    expect(await refusal(repository, workOf(Buffer.alloc(0), { base, tip }))).toBe("header");
    for (const name of ["HEAD", "--output=x", `${tip}^`, tip.toUpperCase(), `${tip}\n`])
      expect(await refusal(repository, workOf(bytes, { base, tip: name }))).toBe("tip");
  });

  test("is no longer read when it is too large, though it never ends", async ({ repository }) => {
    const base = head(repository);
    let pieces = 0;
    const bundle = (async function* () {
      for (;;) {
        pieces += 1;
        yield new Uint8Array(1000);
      }
    })();

    expect(
      await refusal(repository, {
        ...workOf(Buffer.alloc(0), { base, tip: base, keepRef: keep }),
        bundle,
        maxBytes: 10_000,
      }),
    ).toBe("too-large");
    expect(pieces).toBe(11);
  });

  test("lets what its source threw through, and leaves nothing", async ({ repository }) => {
    const base = head(repository);
    const gone = new Error("the container is gone");
    // biome-ignore lint/correctness/useYield: a source that fails at once.
    const bundle = (async function* (): AsyncGenerator<Uint8Array> {
      throw gone;
    })();

    await expect(
      repositoryAt(repository).importBundle({ ...workOf(Buffer.alloc(0), { base, tip: base }), bundle }),
    ).rejects.toBe(gone);
    expectTidy(repository);
  });
});

describe("a bundle's header", () => {
  const headers: [does: string, make: (base: string, tip: string, unknown: string) => string][] = [
    ["has another ref", (base, tip) => `# v2 git bundle\n-${base} x\n${tip} refs/heads/main\n\n`],
    [
      "has a second ref",
      (base, tip) => `# v2 git bundle\n-${base} x\n${tip} refs/heads/work\n${tip} HEAD\n\n`,
    ],
    [
      "has the ref twice",
      (base, tip) => `# v2 git bundle\n-${base} x\n${tip} refs/heads/work\n${tip} refs/heads/work\n\n`,
    ],
    ["has no ref", (base) => `# v2 git bundle\n-${base} x\n\n`],
    ["has another tip", (base) => `# v2 git bundle\n-${base} x\n${base} refs/heads/work\n\n`],
    [
      "is of version 3",
      (base, tip) => `# v3 git bundle\n@object-format=sha1\n-${base} x\n${tip} refs/heads/work\n\n`,
    ],
    [
      "has a capability",
      (base, tip) => `# v2 git bundle\n@filter=blob:none\n-${base} x\n${tip} refs/heads/work\n\n`,
    ],
    [
      "has line ends of two characters",
      (base, tip) => `# v2 git bundle\r\n-${base} x\r\n${tip} refs/heads/work\r\n\r\n`,
    ],
    ["has one at its ref", (base, tip) => `# v2 git bundle\n-${base} x\n${tip} refs/heads/work\r\n\n`],
    ["has one at its end", (base, tip) => `# v2 git bundle\n-${base} x\n${tip} refs/heads/work\n\r\n`],
    ["has a blank too many", (base, tip) => `# v2 git bundle\n-${base} x\n${tip}  refs/heads/work\n\n`],
    ["has a NUL in its ref", (base, tip) => `# v2 git bundle\n-${base} x\n${tip} refs/heads/work\0x\n\n`],
    [
      "has a prerequisite after its ref",
      (base, tip) => `# v2 git bundle\n${tip} refs/heads/work\n-${base} x\n\n`,
    ],
    [
      "builds upon what is not here",
      (_, tip, unknown) => `# v2 git bundle\n-${unknown} x\n${tip} refs/heads/work\n\n`,
    ],
    [
      "has capital digits",
      (base, tip) => `# v2 git bundle\n-${base} x\n${tip.toUpperCase()} refs/heads/work\n\n`,
    ],
    [
      "has short names",
      (base, tip) => `# v2 git bundle\n-${base} x\n${tip.slice(0, 10)} refs/heads/work\n\n`,
    ],
    ["never ends", (base) => `# v2 git bundle\n${`-${base} x\n`.repeat(10_000)}`],
    ["is one endless line", (base) => `# v2 git bundle\n-${base} ${"x".repeat(1_000_000)}`],
    ["ends with the file", () => "# v2 git bundle\n"],
    ["is none", () => ""],
  ];
  for (const [does, make] of headers)
    test(`that ${does} is refused`, async ({ repository }) => {
      const base = head(repository);
      const root = tree(["100644", "a", idOf(blob("a"))]);
      const work = commit(idOf(root), [base]);
      const tip = idOf(work);
      // Otherwise all is well: control.
      const pack = packOf([blob("a"), root, work]);
      const bytes = bundleOf(make(base, tip, "1".repeat(40)), pack);

      expect(await refusal(repository, workOf(bytes, { base, tip }))).toBe("header");
      const good = bundleOf(headerOf(base, tip), pack);
      expect((await repositoryAt(repository).importBundle(workOf(good, { base, tip }))).kind).toBe("taken");
    });

  test("that builds upon commits of the user's that the work did not begin with, or upon no commit, is refused", async ({
    repository,
  }) => {
    const base = head(repository);
    const secret = workIn(repository, { "secret.txt": "s" });
    const noCommit = git(repository, "rev-parse", `${base}^{tree}`).trim();
    const root = tree(["100644", "a", idOf(blob("a"))]);
    for (const upon of [secret, noCommit]) {
      const work = commit(idOf(root), [base, upon]);
      const header = `# v2 git bundle\n-${base} x\n-${upon} x\n${idOf(work)} refs/heads/work\n\n`;
      const bytes = bundleOf(header, packOf([blob("a"), root, work]));

      expect(await refusal(repository, workOf(bytes, { base, tip: idOf(work) }))).toBe("header");
    }
  });
});

const content = blob("x");
const file = idOf(content);
const inner = tree(["100644", "x", file]);
const modules = (text: string): RawObject => blob(`[submodule "s"]\n${text}\n`);

type Planted = readonly [entries: Parameters<typeof tree>, objects?: readonly RawObject[]];
const withModules = (text: string): Planted => [
  [["100644", ".gitmodules", idOf(modules(text))]],
  [modules(text)],
];
const aFolder = (name: string): Planted => [[["40000", name, idOf(inner)]], [content, inner]];
const aFile = (name: string, mode = "100644"): Planted => [[[mode, name, file]], [content]];

/** Work of which every object has the checksum that it should have. */
const hostile: readonly (readonly [what: string, planted: Planted])[] = [
  ["a folder .git", aFolder(".git")],
  ["a folder .GIT", aFolder(".GIT")],
  ["a folder `.git `", aFolder(".git ")],
  ["a folder `.git.`", aFolder(".git.")],
  ["a folder git~1", aFolder("git~1")],
  ["a folder GIT~1", aFolder("GIT~1")],
  ["a folder .git with a character that some disks ignore", aFolder(".g\u200cit")],
  ["a folder .git::$INDEX_ALLOCATION", aFolder(".git::$INDEX_ALLOCATION")],
  ["a folder ..", aFolder("..")],
  ["a folder .", aFolder(".")],
  ["a folder without a name", aFolder("")],
  ["a name with a slash", aFile("a/b")],
  ["a name that leads out", aFile("../x")],
  ["an absolute name", aFile("/etc/x")],
  [
    "a name twice",
    [
      [
        ["100644", "a", file],
        ["100644", "a", file],
      ],
      [content],
    ],
  ],
  [
    "a file and a folder of one name",
    [
      [
        ["100644", "a", file],
        ["40000", "a", idOf(inner)],
      ],
      [content, inner],
    ],
  ],
  [
    "names out of order",
    [
      [
        ["100644", "b", file],
        ["100644", "a", file],
      ],
      [content],
    ],
  ],
  ["a mode with a zero before it", [[["040000", "a", idOf(inner)]], [content, inner]]],
  ["a mode that git does not write", aFile("a", "104755")],
  ["a file that is said to be a folder", aFile("a", "40000")],
  ["a submodule whose URL is a flag", withModules("path = s\nurl = -u./payload")],
  ["a submodule whose path is a flag", withModules("path = --upload-pack=x\nurl = https://example.invalid")],
  [
    "a submodule whose name leads out",
    [
      [["100644", ".gitmodules", idOf(blob('[submodule "../../x"]\nurl = a\npath = b\n'))]],
      [blob('[submodule "../../x"]\nurl = a\npath = b\n')],
    ],
  ],
  [
    "a submodule that is updated by a command",
    withModules("path = s\nurl = https://example.invalid\nupdate = !touch x"),
  ],
  ["a submodule with a line break in its URL", withModules('path = s\nurl = "https://example.invalid/\\nx"')],
  [".gitmodules as a link", aFile(".gitmodules", "120000")],
  [".gitattributes as a link", aFile(".gitattributes", "120000")],
  [
    ".gitattributes as a link, further down",
    [
      [["40000", "a", idOf(tree(["120000", ".gitattributes", file]))]],
      [content, tree(["120000", ".gitattributes", file])],
    ],
  ],
];

describe("work that is hostile inside of a sound bundle", () => {
  for (const [what, [entries, objects]] of hostile)
    test(`is refused: ${what}`, async ({ repository }) => {
      const base = head(repository);
      const { bundle, tip } = handMade(base, entries, objects);

      expect(await refusal(repository, workOf(bundle, { base, tip }))).toBe("pack");
    });

  test("would come in by a plain fetch of the bundle (control), unless this git checks there too", async ({
    repository,
    folder,
  }) => {
    const base = head(repository);
    const looksLikeGit = hostile.slice(0, 8);
    let letIn = 0;
    for (const [number, [, [entries, objects]]] of looksLikeGit.entries()) {
      const { bundle, tip } = handMade(base, entries, objects);
      const at = join(folder, `${number}.bundle`);
      writeFileSync(at, bundle);
      try {
        git(
          repository,
          ...["-c", "fetch.fsckObjects=true", "-c", "transfer.fsckObjects=true", "fetch", "--quiet", at],
          `refs/heads/work:refs/heads/in-${number}`,
        );
        git(repository, "cat-file", "-e", tip);
        letIn += 1;
      } catch {
        // This git refuses it.
      }
    }

    const [, major = 0, minor = 0] = (/(\d+)\.(\d+)/.exec(git(folder, "--version")) ?? []).map(Number);
    console.info(
      `plain git fetch with fsckObjects let ${letIn} of ${looksLikeGit.length} in (git ${major}.${minor})`,
    );
    if (major === 2 && minor < 46) expect(letIn).toBeGreaterThan(0);
  });

  test("is refused: objects that are missing, broken, not what they claim, or without end", async ({
    repository,
  }) => {
    const base = head(repository);
    const missing = "1".repeat(40);
    const work = (planted: Planted, pack?: (objects: RawObject[]) => Buffer): BundleToImport => {
      const root = tree(...planted[0]);
      const made = commit(idOf(root), [base]);
      const objects = [...(planted[1] ?? []), root, made];
      const bytes = bundleOf(headerOf(base, idOf(made)), (pack ?? packOf)(objects));
      return workOf(bytes, { base, tip: idOf(made) });
    };
    const flipped = (objects: RawObject[]): Buffer => {
      const pack = packOf(objects);
      pack[40] = (pack[40] ?? 0) ^ 0xff;
      return pack;
    };
    const big = blob("y".repeat(70_000));

    expect(await refusal(repository, work([[["100644", "a", missing]]]))).toMatch(/pack|incomplete/);
    expect(await refusal(repository, work([[["40000", "a", missing]]]))).toMatch(/pack|incomplete/);
    expect(await refusal(repository, work(aFile("a"), flipped))).toBe("pack");
    expect(
      await refusal(
        repository,
        work(aFile("a"), (all) => packOf(all, [], 99)),
      ),
    ).toBe("pack");
    expect(
      await refusal(
        repository,
        work(aFile("a"), (all) => packOf(all, [], 0xffffffff)),
      ),
    ).toBe("pack");
    expect(
      await refusal(
        repository,
        work(aFile("a"), () => packOf([])),
      ),
    ).toMatch(/pack|incomplete/);
    expect(
      await refusal(
        repository,
        work(aFile("a"), (all) => packOf([...all, big], [deltaBomb(big, 3 * 1024 ** 3)])),
      ),
    ).toBe("pack");
  });

  test("is refused: a tip without its base, and a tree, in place of the commit", async ({ repository }) => {
    const base = head(repository);
    const root = tree(["100644", "a", file]);
    const orphan = commit(idOf(root), []);
    const unrelated = bundleOf(headerOf(base, idOf(orphan)), packOf([content, root, orphan]));
    const noCommit = bundleOf(headerOf(base, idOf(root)), packOf([content, root]));

    expect(await refusal(repository, workOf(unrelated, { base, tip: idOf(orphan) }))).toBe("unrelated");
    expect(await refusal(repository, workOf(noCommit, { base, tip: idOf(root) }))).toBe("incomplete");
  });

  test("is refused: folders in folders that would be ten thousand million files", async ({ repository }) => {
    const base = head(repository);
    const levels: RawObject[] = [tree(["100644", "f", file])];
    for (let level = 0; level < 10; level += 1) {
      const id = idOf(levels[0] ?? content);
      levels.unshift(
        tree(...Array.from({ length: 10 }, (_, name): [string, string, string] => ["40000", `${name}`, id])),
      );
    }
    const [root = content] = levels;
    const made = commit(idOf(root), [base]);
    const bytes = bundleOf(headerOf(base, idOf(made)), packOf([content, ...levels, made]));

    expect(await refusal(repository, workOf(bytes, { base, tip: idOf(made) }))).toBe("too-many");
  }, 30_000);

  test("a link .gitattributes that the repository had before is no reason against the work", async ({
    repository,
  }) => {
    const root = tree(["120000", ".gitattributes", file], ["100644", "x", file]);
    const first = commit(idOf(root), []);
    const pack = join(repository, ".git", "made.pack");
    writeFileSync(pack, packOf([content, root, first]));
    git(repository, "index-pack", "-o", join(repository, ".git/objects/pack/pack-1.idx"), pack);
    writeFileSync(join(repository, ".git/objects/pack/pack-1.pack"), readFileSync(pack));
    const base = idOf(first);
    const { bundle, tip } = handMade(base, [
      ["120000", ".gitattributes", file],
      ["100644", "y", file],
    ]);

    expect(await repositoryAt(repository).importBundle(workOf(bundle, { base, tip }))).toEqual({
      kind: "taken",
      commit: tip,
    });
  });
});

describe("a poisoned repository", () => {
  test("runs what it likes where git is used in it, and nothing where its work is taken in, published and looked at", async ({
    repository,
    folder,
  }) => {
    const base = head(repository);
    const fired = join(folder, "fired");
    mkdirSync(fired);
    vi.stubEnv("HOME", join(folder, "home"));
    mkdirSync(join(folder, "home"));
    const works = poisons.map(({ name, files = {}, plant, touch }, number) => {
      const program = join(folder, `canary-${number}`);
      writeFileSync(program, `#!/bin/sh\ntouch '${fired}/${number}'\n`);
      chmodSync(program, 0o755);
      const agent = agentOf(repository, folder, `agent-${number}`);
      const tip = workIn(agent, { ...files, [`${number}.txt`]: name });
      const bundle = bundleFrom(agent, base);
      plant(agent, program);
      return { agent, tip, bundle, touch: () => touch(agent), mark: join(fired, `${number}`) };
    });
    const leftOut = /^repository\/\.git\/(?:objects|aimi|refs|logs)$/;
    const before = everythingIn(folder, leftOut);

    const repo = repositoryAt(repository);
    for (const [number, { tip, bundle }] of works.entries()) {
      const work = workOf(bundle, { base, tip, keepRef: `${keep}-${number}` });
      expect((await repo.importBundle(work)).kind).toBe("taken");
      const published = await repo.publish({
        commit: tip,
        base,
        branch: `work-${number}`,
        fallbackBranch: "other",
      });
      expect(published.kind).toBe("published");
      await repo.sensitivePaths(base, tip);
      await repo.changes(base, tip);
    }
    await repo.mergeBases(works.slice(0, 2).map(({ tip }) => tip));

    expect(readdirSync(fired)).toEqual([]);
    expect(everythingIn(folder, leftOut)).toEqual(before);
    // Control: each of them is alive.
    const alive = works.filter(({ touch, mark }) => {
      try {
        touch();
      } catch {
        // The program is no good as what it pretends to be.
      }
      return existsSync(mark);
    });
    expect(works.length).toBeGreaterThanOrEqual(10);
    // What git takes for a program differs from version to version.
    expect(alive.length).toBeGreaterThanOrEqual(10);
  }, 30_000);

  test("has no say through the user's own drivers, hooks and filters either", async ({
    repository,
    folder,
  }) => {
    const canary = join(folder, "canary");
    writeFileSync(canary, `#!/bin/sh\ntouch '${folder}/fired'\n`);
    chmodSync(canary, 0o755);
    const settings = [
      "merge.run.driver",
      "diff.run.textconv",
      "diff.run.command",
      "filter.run.clean",
      "core.fsmonitor",
    ];
    for (const name of settings) git(repository, "config", name, canary);
    for (const name of ["reference-transaction", "post-update", "update", "pre-auto-gc"]) {
      writeFileSync(join(repository, ".git/hooks", name), `#!/bin/sh\n${canary}\n`);
      chmodSync(join(repository, ".git/hooks", name), 0o755);
    }
    writeFileSync(join(repository, ".git/info/attributes"), "* merge=run diff=run filter=run\n");
    const { base, tip, work, agent } = oneCommit(repository, folder, { "README.md": "one" });
    git(agent, "reset", "--quiet", "--hard", base);
    const other = workIn(agent, { "README.md": "two" });
    const repo = repositoryAt(repository);

    await repo.importBundle(work());
    await repo.importBundle(workOf(bundleFrom(agent, base), { base, tip: other, keepRef: `${keep}-2` }));
    await repo.publish({ commit: tip, base, branch: "x", fallbackBranch: "y" });
    await repo.sensitivePaths(base, tip);
    await repo.changes(base, tip);
    const merged = await repo.mergeBases([tip, other]);

    expect(merged).toEqual({ kind: "conflict", files: ["README.md"] });
    expect(at(repository, "refs/heads/x")).toBe(tip);
    expect(existsSync(join(folder, "fired"))).toBe(false);
  });
});
