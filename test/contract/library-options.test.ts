import { readFileSync } from "node:fs";
import { describe, expect, test as plain, vi } from "vitest";
import { buildBaseImage, createSandbox, openSandbox } from "../../src/app/library.ts";
import { isError } from "../../src/errors/errors.ts";
import { addArgumentChecks } from "../../src/sandbox/add-argument-checks.ts";
import { checkLibraryCall } from "../../src/sandbox/check-library-call.ts";
import type { Sandbox } from "../../src/sandbox/sandbox.ts";
import { type Chance, chanceFrom } from "../fakes/chance.ts";
import { listenOutside, redirectingEngine } from "../fakes/engine/redirecting-engine.ts";
import { test } from "../fakes/folders.ts";

type Values = Readonly<Record<string, readonly unknown[]>>;

const week = 7 * 86_400_000;
const notNumbers = [
  Number.NaN,
  Number.POSITIVE_INFINITY,
  Number.NEGATIVE_INFINITY,
  "5",
  "5s",
  "",
  true,
  null,
  [],
  {},
  5n,
  new Date(),
];
const notWhole = [...notNumbers, -5, 1.5];
const notTexts = [5, true, null, [], {}, () => "x", Symbol("x")];
const notFlags = ["yes", "", 0, 1, null, [], {}];
const notObjects = ["x", 5, true, null, [], () => ({})];

const badEnv = [
  ...notObjects,
  ...[
    { A: 5 },
    { A: true },
    { A: null },
    { A: undefined },
    { A: ["x"] },
    { A: "\0" },
    { A: "\ud800" },
    { "": "x" },
  ],
  ...[{ "A=B": "x" }, { "A\nB": "x" }, { "1A": "x" }, { "A-B": "x" }, { ä: "x" }, { A: "x".repeat(40_000) }],
  ...[
    { LD_PRELOAD: "/x.so" },
    { LD_LIBRARY_PATH: "/x" },
    { GLIBC_TUNABLES: "x" },
    { AIMI_EXEC: "x" },
    { IS_SANDBOX: "0" },
  ],
];
const goodEnv = [{}, { A: "" }, { LANG: "C.UTF-8", _x1: "a\nb" }];

/** Of each option of `createSandbox` what cannot be. */
const badOptions: Values = {
  engine: [...notTexts, "", "unix://", "localhost", "http://127.0.0.1", "file:///etc/passwd"],
  image: [
    ...notTexts,
    "",
    "..",
    "../127.0.0.1:18099/x",
    "/x",
    "x y",
    "--rm",
    "x?y",
    "x\n",
    "X",
    "x".repeat(256),
  ],
  prefix: [
    ...notTexts,
    "",
    "x",
    "/etc/",
    "--rm ",
    "aimi-../",
    "aimi-A",
    "aimi--",
    "aimi-\n",
    `aimi-${"x".repeat(90)}`,
  ],
  workdir: [
    ...notTexts,
    "",
    "relative",
    "/..",
    "/a/../b",
    "/../etc",
    "/a\0b",
    "/a\nb",
    `/${"x".repeat(5_000)}`,
  ],
  commandTimeoutMs: [...notWhole, 0, week + 1, 2 ** 31],
  outputLimit: [...notWhole, 1e12],
  env: badEnv,
  network: [...notTexts, "", "host", "container:x", "None", "default", "aimi-x", "gateway"],
  isolation: [...notTexts, "", "nonsense", "runc", "Strong", "none"],
  limits: [
    ...notObjects,
    ...[...notNumbers, 0, -1, 0.001, 1e9].map((cpus) => ({ cpus })),
    ...["memoryBytes", "diskBytes", "pids", "descriptors", "files", "logBytes"].flatMap((name) =>
      [...notWhole, 0, -1, 2 ** 60].map((value) => ({ [name]: value })),
    ),
    ...[...notWhole, -1, 2 ** 60].map((swapBytes) => ({ swapBytes })),
    ...[{ memory: "4g" }, { memoryBytes: 1_000 }, { pids: 15 }, { cpu: 1 }],
  ],
  readOnlyRoot: notFlags,
  ttlMs: [...notWhole, 0, 999, week + 1, "10m"],
  labels: [
    ...notObjects,
    { a: 5 },
    { a: null },
    { "": "x" },
    { "a b": "x" },
    { "a=b": "x" },
    { "org.aimi.role": "agent" },
  ],
  // Options that there are not.
  ...{
    ttl: [5, "5s"],
    privileged: [true],
    volumes: [[]],
    binds: [[]],
    user: ["0"],
    runtime: ["runc"],
    NETWORK: ["none"],
  },
  ...{ capabilities: [["SYS_ADMIN"]], timeoutMs: [5], constructor: [{}], toString: ["x"] },
};

const goodOptions: Values = {
  image: ["aimi-sandbox:base", "debian:12-slim", `x@sha256:${"ab".repeat(32)}`],
  prefix: ["aimi-", "aimi-agent-", "aimi-x"],
  workdir: ["/workspace", "/", "/a b/ü", "/..a/b.."],
  commandTimeoutMs: [1, 60_000, week],
  outputLimit: [0, 10_000],
  env: goodEnv,
  network: ["none", "bridge"],
  isolation: ["auto", "shared-kernel", "userns", "strong"],
  limits: [
    {},
    { memoryBytes: 512 * 1024 ** 2 },
    { cpus: 0.5, pids: 64, swapBytes: 0, files: 10, logBytes: 10_000 },
  ],
  readOnlyRoot: [true, false],
  ttlMs: [1_000, 10 * 60_000, week],
  labels: [{}, { mine: "yes" }, { "com.example.job": "" }],
};

async function refusal(call: () => Promise<unknown>): Promise<string> {
  return call().then(
    () => "it passed",
    (error: unknown) => {
      if (!isError(error, "OPTION_INVALID")) return String(error);
      return error.hint && error.details.problem ? error.details.option : "it has no hint";
    },
  );
}

/** Every value with the name of its option. */
const rows = (values: Values): [name: string, value: unknown][] =>
  Object.entries(values).flatMap(([name, all]) => all.map((value): [string, unknown] => [name, value]));

describe("createSandbox", () => {
  test("refuses every option that cannot be, by its name, before it asks any engine", async ({ folder }) => {
    await using outside = await listenOutside();
    await using engine = await redirectingEngine(folder);
    const passed: string[] = [];
    for (const [name, value] of rows(badOptions)) {
      const options = { engine: engine.endpoint, [name]: value } as object;
      const told = await refusal(() => createSandbox(options));
      if (told !== name && !told.startsWith(`${name}.`)) passed.push(`${name} ${String(value)}: ${told}`);
    }
    expect(passed).toEqual([]);
    for (const options of notObjects)
      expect(await refusal(() => createSandbox(options as object))).toMatch(/^options$/);
    expect(await refusal(() => createSandbox({}, {} as AbortSignal))).toBe("signal");
    expect(await refusal(() => createSandbox(Object.create({ network: "host" })))).toBe("network");
    expect(await refusal(() => createSandbox(JSON.parse('{"__proto__":{"network":"host"}}')))).toBe(
      "__proto__",
    );
    expect(await refusal(() => buildBaseImage({ agents: "claude" } as object))).toBe("agents");
    expect(await refusal(() => buildBaseImage({ onStep: "x" } as object))).toBe("onStep");
    expect(engine.asked).toEqual([]);
    expect(await outside.connections()).toBe(0);
  });

  test("control: what can be goes to the engine", async ({ folder }) => {
    await using engine = await redirectingEngine(folder);
    vi.stubEnv("SWARM_STATE_DIR", folder);
    try {
      const created = createSandbox({ engine: engine.endpoint, image: "aimi-sandbox:none" });
      await expect(created).rejects.toMatchObject({ code: "IMAGE_NOT_FOUND" });
      expect(engine.asked).toContain("GET /images/aimi-sandbox:none/json");
    } finally {
      vi.unstubAllEnvs();
    }
  });

  plain("of 500 sets of options passes which has nothing wrong, and no other", async () => {
    const chance = chanceFrom(19);
    let refused = 0;
    for (let round = 0; round < 500; round += 1) {
      const options = generated(chance);
      const bad = round % 2 === 0 ? null : chance.pick(rows(badOptions));
      const told = await refusal(() =>
        checkLibraryCall("createSandbox", { options: bad ? { ...options, [bad[0]]: bad[1] } : options }),
      );
      if (bad === null) expect(told, JSON.stringify(options)).toBe("it passed");
      else expect(told.split(".")[0], `${bad[0]} ${String(bad[1])}`).toBe(bad[0]);
      refused += bad === null ? 0 : 1;
    }
    expect(refused).toBe(250);
  });

  plain("means by its options what sandbox.yaml means", () => {
    const schema = (name: string) =>
      JSON.parse(readFileSync(new URL(`../../schemas/${name}.schema.json`, import.meta.url), "utf8"));
    const file = schema("sandbox").properties;
    const { options } = schema("sandbox-options").properties.createSandbox.properties;
    const { isolation, limits, readOnlyRoot, network } = options.properties;
    expect(isolation.enum).toEqual(file.isolation.enum);
    expect(limits.properties.cpus).toEqual(file.resources.properties.cpus);
    expect(limits.properties.pids).toEqual(file.resources.properties.pids);
    expect(readOnlyRoot.type).toBe(file.readOnlyRoot.type);
    // But for the host's own network, which a file needs a flag for.
    expect([...network.enum, "host"]).toEqual(file.network.enum);
  });
});

function generated(chance: Chance): Record<string, unknown> {
  const names = Object.keys(goodOptions).filter(() => chance.below(2) === 0);
  return Object.fromEntries(names.map((name) => [name, chance.pick(goodOptions[name] ?? [])]));
}

describe("openSandbox", () => {
  test("refuses ids that no engine gives, before it asks any", async ({ folder }) => {
    await using outside = await listenOutside();
    await using engine = await redirectingEngine(folder);
    const address = `../127.0.0.1:${outside.port}/x`;
    for (const id of [
      ...notTexts,
      undefined,
      "",
      ".",
      "..",
      address,
      `/${address}`,
      "x/../y",
      "x?y",
      "x y",
      "-x",
    ])
      expect(await refusal(() => openSandbox(id as string, { engine: engine.endpoint }))).toBe("id");
    for (const [name, value] of [
      ["commandTimeoutMs", Number.NaN],
      ["outputLimit", "5"],
      ["ttl", 5],
      ["engine", ""],
    ] as const)
      expect(await refusal(() => openSandbox("abc", { [name]: value } as object))).toBe(name);
    expect(engine.asked).toEqual([]);
    expect(await outside.connections()).toBe(0);

    await expect(openSandbox("abc", { engine: engine.endpoint })).rejects.toMatchObject({
      code: "SANDBOX_UNKNOWN",
    });
    expect(engine.asked).toContain("GET /containers/abc/json");
  });
});

describe("a function of a sandbox", () => {
  const done = async (): Promise<string> => "done";
  const names = ["start", "stop", "exec", "sh", "readFile", "writeFile", "list", "copyIn", "copyOut"];
  const others = ["stats", "look", "commit", "destroy"];
  const inner = {
    ...Object.fromEntries([...names, ...others].map((name) => [name, done])),
    async *logs() {},
  } as unknown as Sandbox;
  const sandbox = addArgumentChecks(inner, checkLibraryCall);
  /** As a program says it that knows no types. */
  const untyped = sandbox as unknown as Record<
    string,
    (...words: unknown[]) => Promise<unknown> & AsyncIterable<unknown>
  >;
  const say = async (name: string, words: readonly unknown[]): Promise<unknown> => {
    const said = untyped[name]?.(...words);
    if (name !== "logs") return said;
    for await (const _ of said ?? []);
    return "done";
  };

  const badCommand: [string, unknown][] = rows({
    env: badEnv,
    workdir: [...notTexts, "a\0b"],
    input: [5, true, null, {}, [1, 2]],
    timeoutMs: [...notWhole, 0, week + 1],
    outputLimit: notWhole,
    onOutput: ["x", null, {}],
    signal: ["x", null, {}, new AbortController()],
    timeout: [5],
  });
  const badFile: [string, unknown][] = rows({ absolute: notFlags, signal: ["x", {}], mode: [0o644] });
  const bad: readonly (readonly [string, string, readonly unknown[]])[] = [
    ...["echo hi", 5, null, undefined, {}, [5], ["a", null], [["a"]], ["a\0"]].map(
      (command) => ["exec", "command", [command]] as const,
    ),
    ...[5, null, undefined, ["a"], "a\0"].map((script) => ["sh", "script", [script]] as const),
    ...badCommand.map(([name, value]) => ["exec", name, [["true"], { [name]: value }]] as const),
    ...badCommand.map(([name, value]) => ["sh", name, ["true", { [name]: value }]] as const),
    ...notObjects.flatMap((options) => [
      ["exec", "options", [["true"], options]] as const,
      ["sh", "options", ["true", options]] as const,
    ]),
    ...[...notTexts, undefined, "a\0"].flatMap((path) => [
      ...[["readFile", "path", [path]] as const, ["writeFile", "path", [path, "x"]] as const],
      ...[["copyIn", "from", [path]] as const, ["copyOut", "path", [path, "x"]] as const],
      ["copyOut", "into", ["x", path]] as const,
    ]),
    ...notTexts.flatMap((path) => [
      ["list", "path", [path]] as const,
      ["copyIn", "into", ["x", path]] as const,
    ]),
    ...badFile.flatMap(([name, value]) => [
      ...[
        ["readFile", name, ["x", { [name]: value }]] as const,
        ["list", name, [".", { [name]: value }]] as const,
      ],
      ...[
        ["writeFile", name, ["x", "y", { [name]: value }]] as const,
        ["copyIn", name, ["x", "y", { [name]: value }]] as const,
      ],
      ["copyOut", name, ["x", "y", { [name]: value }]] as const,
    ]),
    ...notWhole.map((maxBytes) => ["readFile", "maxBytes", ["x", { maxBytes }]] as const),
    ...notFlags.map((leaveOut) => ["copyOut", "leaveOut", ["x", "y", { leaveOut }]] as const),
    ...notFlags.map((follow) => ["logs", "follow", [{ follow }]] as const),
    ...[5, null, undefined, {}, [1]].map((content) => ["writeFile", "content", ["x", content]] as const),
    ...notWhole.map((graceMs) => ["stop", "graceMs", [{ graceMs }]] as const),
    ...["x", null, {}].flatMap((signal) => [
      ["start", "signal", [signal]] as const,
      ["stats", "signal", [signal]] as const,
    ]),
    ...[...notTexts, undefined, "", "../x", "x y", "/x", "X"].map((tag) => ["commit", "tag", [tag]] as const),
  ];

  plain.each([...new Set(bad.map(([name]) => name))])(
    "%s refuses what cannot be, by its name",
    async (name) => {
      const asExpected = bad.filter(([of]) => of === name);
      for (const [, option, words] of asExpected)
        expect(
          (await refusal(() => say(name, words))).split(".")[0],
          `${option}: ${String(words.at(-1))}`,
        ).toBe(option);
    },
  );

  plain("exec shows what a line of shell is written as", async () => {
    await expect(say("exec", ["echo hi"])).rejects.toMatchObject({
      ...{ code: "OPTION_INVALID", exitCode: 2, message: "command: command must be array" },
      hint: 'Pass an array of strings, for example ["sh", "-c", "echo hi"]; sh(script) runs a line of shell.',
    });
  });

  plain.each<[string, unknown[]]>([
    ["exec", [["python3", "count.py"], { input: "one\n", timeoutMs: 10_000 }]],
    ["exec", [["ls", ""], { onOutput: () => {}, env: { A: "x" }, workdir: "/", outputLimit: 4_000 }]],
    ["exec", [[], { input: new Uint8Array(2), signal: AbortSignal.timeout(5), timeoutMs: undefined }]],
    ["sh", ["echo no such luck >&2; exit 3"]],
    ["readFile", ["sum.py", { maxBytes: 100_000 }]],
    ["writeFile", ["count.py", "import sys\n"]],
    ["writeFile", ["x", Buffer.from("x"), { absolute: true, signal: new AbortController().signal }]],
    ["list", []],
    ["copyIn", ["/here", "there"]],
    ["copyOut", ["results", "results", { leaveOut: true }]],
    ["logs", []],
    ["logs", [{ follow: true }]],
    ["stats", [AbortSignal.timeout(5)]],
    ["start", []],
    ["stop", [{ graceMs: 0 }]],
    ["commit", ["mine:1"]],
    ["look", []],
    ["destroy", []],
  ])("%s takes what can be: %o", async (name, words) => {
    expect(await say(name, words)).toBe("done");
  });
});
