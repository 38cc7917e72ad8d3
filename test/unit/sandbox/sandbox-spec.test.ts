import { readFileSync } from "node:fs";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { isError, SwarmError } from "../../../src/errors/errors.ts";
import { parseSandboxSpec } from "../../../src/sandbox/parse-sandbox-spec.ts";
import {
  findSandboxDangers,
  findSandboxSpecProblems,
  type SandboxSpec,
  toSandboxSpec,
} from "../../../src/sandbox/rules/sandbox-spec.ts";
import { parseYaml } from "../../../src/schema/parse-yaml.ts";

const full = `# What the nightly report needs.
name: nightly-report
runtime: python
ttl: 6h
inputs:
  - data/**/*.csv
  - report.py
outputs:
  - report.html
  - charts/
resources:
  cpus: 1.5
  memory: 512m
  disk: 4g
  pids: 256
network: bridge
env:
  LANG: C.UTF-8
  PORT: 8080
  DEBUG: true
permissions:
  aws:
    role: arn:aws:iam::123456789012:role/reports/reader
    services: [s3, "dynamodb:GetItem"]
readOnlyRoot: true
isolation: userns
`;

const parse = (text: string): Promise<SandboxSpec> => parseSandboxSpec(Buffer.from(text), "sandbox.yaml");

async function refusalOf(text: string | Uint8Array): Promise<{
  problem: string;
  hint: string;
  line: number | undefined;
  column: number | undefined;
  pointer: string | undefined;
}> {
  try {
    await parseSandboxSpec(typeof text === "string" ? Buffer.from(text) : text, "sandbox.yaml");
  } catch (error) {
    if (!isError(error, "SANDBOX_SPEC_INVALID")) throw error;
    const { problem, hint, place } = error.details;
    return { problem, hint, line: place.line, column: place.column, pointer: place.pointer };
  }
  throw new Error("it was accepted");
}

describe("a sandbox.yaml", () => {
  test("with every field becomes a spec, its amounts as numbers", async () => {
    expect(await parse(full)).toEqual({
      name: "nightly-report",
      runtime: { kind: "language", language: "python" },
      ttl: "6h",
      ttlMs: 21_600_000,
      inputs: ["data/**/*.csv", "report.py"],
      outputs: ["report.html", "charts/"],
      resources: { cpus: 1.5, memoryBytes: 512 * 1024 ** 2, diskBytes: 4 * 1024 ** 3, pids: 256 },
      network: "bridge",
      env: { LANG: "C.UTF-8", PORT: "8080", DEBUG: "true" },
      permissions: {
        aws: {
          role: "arn:aws:iam::123456789012:role/reports/reader",
          services: ["s3", "dynamodb:GetItem"],
        },
      },
      readOnlyRoot: true,
      privileged: false,
      isolation: "userns",
    });
  });

  test("with nothing in it is a sandbox with the defaults, sealed", async () => {
    expect(await parse("{}")).toEqual(toSandboxSpec({}));
    expect(toSandboxSpec({})).toEqual({
      name: null,
      runtime: { kind: "language", language: "bash" },
      ttl: "30m",
      ttlMs: 1_800_000,
      inputs: [],
      outputs: [],
      resources: { cpus: null, memoryBytes: null, diskBytes: null, pids: null },
      network: "none",
      env: {},
      permissions: {},
      readOnlyRoot: false,
      privileged: false,
      isolation: "auto",
    });
  });

  test("may be JSON, indented by tabs", async () => {
    const text = JSON.stringify({ name: "a", env: { SMILE: "😀" } }, null, "\t");

    expect(await parse(text)).toEqual({ ...toSandboxSpec({}), name: "a", env: { SMILE: "😀" } });
  });

  test("may begin with a byte order mark and `---`, end in `...`, and have Windows' line ends", async () => {
    expect(await parse("\ufeff---\r\nname: a\r\nttl: 1s\r\n...\r\n# the end\r\n")).toMatchObject({
      name: "a",
      ttlMs: 1000,
    });
  });

  test("variables keep the text that was written, whatever YAML takes it for", async () => {
    const { env } = await parse(
      'env: {A: 1.10, B: 0755, C: 12345678901234567890, D: yes, E: TRUE, F: "1", G: "", constructor: x}',
    );

    expect(env).toEqual({
      A: "1.10",
      B: "0755",
      C: "12345678901234567890",
      D: "yes",
      E: "TRUE",
      F: "1",
      G: "",
      constructor: "x",
    });
  });

  test("a spec made without a file has its numbers and booleans as text, too", () => {
    const file = { env: { PORT: 80, DEBUG: false } };

    expect(findSandboxSpecProblems(file)).toEqual([]);
    expect(toSandboxSpec(file).env).toEqual({ PORT: "80", DEBUG: "false" });
  });

  test.each([
    "node:22",
    "debian",
    "debian:12-slim",
    "ghcr.io/owner/image:v1.2.3",
    "localhost:5000/a/b_c__d.e-f---g:T_1",
    `python@sha256:${"0".repeat(64)}`,
    `registry.example.org/x/y:1@sha256:${"a".repeat(64)}`,
  ])("the image %s is taken as it stands", async (image) => {
    expect(await parse(`runtime: ${image}`)).toMatchObject({ runtime: { kind: "image", image } });
  });

  test.each([
    "src/**/*.py",
    "./a",
    "a..b/c...d",
    ".env",
    "[ab]?.txt",
    "a~",
    "app/(group)/page.tsx",
    "with space",
  ])("the input %s stays below the folder", async (glob) => {
    expect(await parse(`inputs: [${JSON.stringify(glob)}]`)).toMatchObject({ inputs: [glob] });
  });

  test("the page's example is accepted, and the page names every field", async () => {
    const page = readFileSync(new URL("../../../docs/sandbox-spec.md", import.meta.url), "utf8");
    const [, example = ""] = /^```yaml\n([\s\S]*?)^```/m.exec(page) ?? [];

    const spec = await parse(example);

    expect(findSandboxDangers(spec)).toEqual([]);
    for (const field of Object.keys(schema().properties)) expect(page).toContain(`| \`${field}`);
  });
});

function schema(): { properties: Record<string, unknown> } {
  return JSON.parse(readFileSync(new URL("../../../schemas/sandbox.schema.json", import.meta.url), "utf8"));
}

describe("values that open the host", () => {
  test("the host's network is reported with the flag that it needs", async () => {
    const dangers = findSandboxDangers(await parse("name: a\nnetwork: host"));

    expect(dangers).toEqual([
      { what: "`network: host`", flag: "--dangerous-allow-host-network", permission: "hostNetwork" },
    ]);
  });

  test("a privileged sandbox is reported with the flag that it needs", async () => {
    const dangers = findSandboxDangers(await parse("privileged: true"));

    expect(dangers).toEqual([
      { what: "`privileged: true`", flag: "--dangerous-allow-privileged", permission: "privileged" },
    ]);
  });

  test("both are reported, and nothing else is", async () => {
    expect(findSandboxDangers(await parse("{network: host, privileged: true}"))).toHaveLength(2);
    expect(findSandboxDangers(await parse(full))).toEqual([]);
    expect(findSandboxDangers(toSandboxSpec({}))).toEqual([]);
  });
});

const unknown = "is not a field of the file";
const notAField = "is not a field of";
const notAnImage = "is neither a supported language nor an image reference";
const notAName = "name does not have the expected form";
const notAVariable = "is not a valid name for a variable";

/** Each tries to get at the host, at what is beside it, or at the program that reads it. */
const hostile: [what: string, text: string, line: number, column: number, problem: string][] = [
  // Pieces of the host
  ["the engine's socket", "name: a\nvolumes:\n  - /var/run/docker.sock:/s\n", 2, 1, unknown],
  ["the host's root", "binds: ['/:/host']", 1, 1, unknown],
  ["ssh keys", "runtime: bash\nmounts:\n  - source: ~/.ssh\n    target: /k\n", 2, 1, unknown],
  ["another sandbox's volumes", "volumes_from: [other]", 1, 1, unknown],
  ["a device", "devices: [/dev/mem]", 1, 1, unknown],
  ["rules for devices", "device_cgroup_rules: ['a *:* rwm']", 1, 1, unknown],
  ["a mount among the resources", "resources:\n  memory: 1g\n  mounts: [/]\n", 3, 3, notAField],
  // Less confinement
  ["capabilities, as Compose says it", "cap_add: [SYS_ADMIN]", 1, 1, unknown],
  ["capabilities", "capabilities: [ALL]", 1, 1, unknown],
  ["no seccomp", "security_opt: [seccomp=unconfined]", 1, 1, unknown],
  ["the host's processes", "pid: host", 1, 1, unknown],
  ["the host's shared memory", "ipc: host", 1, 1, unknown],
  ["the host's name", "uts: host", 1, 1, unknown],
  ["the host's user ids", "userns_mode: host", 1, 1, unknown],
  ["another cgroup", "cgroup_parent: /", 1, 1, unknown],
  ["kernel parameters", "sysctls: {kernel.core_pattern: '|/x'}", 1, 1, unknown],
  ["another resolution of names", "extra_hosts: ['mirror.example:10.0.0.1']", 1, 1, unknown],
  ["root", "user: root", 1, 1, unknown],
  ["another first program", "entrypoint: [/bin/sh]", 1, 1, unknown],
  ["another OCI runtime", "oci_runtime: runc", 1, 1, unknown],
  ["privileged in other words", "Privileged: true", 1, 1, unknown],
  ["privileged as text", "privileged: 'true'", 1, 1, "privileged must be boolean"],
  ["another container's network", "network: container:abc", 1, 1, "network must be one of"],
  ["a network by name", "network: production_default", 1, 1, "network must be one of"],
  ["an isolation that is none", "isolation: none", 1, 1, "isolation must be one of"],
  ["rights beside AWS", "permissions:\n  docker: all\n", 2, 3, notAField],
  // What could be taken for an option, a command or another image
  ["an option for an image", 'runtime: "--privileged"', 1, 1, notAnImage],
  ["a command after the image", 'runtime: "ubuntu; rm -rf /"', 1, 1, notAnImage],
  ["a command in the image", 'runtime: "$(id)"', 1, 1, notAnImage],
  ["a line after the image", 'runtime: "ubuntu\\nRUN id"', 1, 1, notAnImage],
  ["a line end after the image", "runtime: |\n  ubuntu\n", 1, 1, notAnImage],
  ["an archive for an image", "runtime: docker-archive:/tmp/x", 1, 1, notAnImage],
  ["a path for an image", "runtime: ../../images/x", 1, 1, notAnImage],
  ["a look-alike of an image", "runtime: dеbian", 1, 1, notAnImage],
  ["an endless image", `runtime: ${"a".repeat(256)}`, 1, 1, "must NOT have more than 255 characters"],
  ["an option for a name", 'name: "--rm"', 1, 1, notAName],
  ["a line end in the name", 'ttl: 1m\nname: "a\\n"', 2, 1, notAName],
  ["a path for a name", "name: ../a", 1, 1, notAName],
  // Variables
  [
    "a library before all others",
    "env:\n  LD_PRELOAD: /inputs/x.so\n",
    2,
    3,
    "does not allow the variable LD_PRELOAD",
  ],
  [
    "a library's path",
    "env: {A: b, LD_LIBRARY_PATH: /inputs}",
    1,
    13,
    "does not allow the variable LD_LIBRARY_PATH",
  ],
  ["the loader's tunables", "env: {GLIBC_TUNABLES: x}", 1, 7, "does not allow the variable GLIBC_TUNABLES"],
  [
    "swarm's own variables",
    "env: {AIMI_SANDBOX_TOKEN: x}",
    1,
    7,
    "does not allow the variable AIMI_SANDBOX_TOKEN",
  ],
  ["saying that it is no sandbox", "env: {IS_SANDBOX: 0}", 1, 7, "does not allow the variable IS_SANDBOX"],
  ["a second variable in a name", 'env:\n  A: 1\n  "B=x LD_PRELOAD": y\n', 3, 3, notAVariable],
  ["a line end in a variable's name", 'env: {"A\\nLD_PRELOAD": x}', 1, 7, notAVariable],
  ["a look-alike of a variable", "env:\n  LD_PRELОAD: /x.so\n", 2, 3, notAVariable],
  ["a variable without a name", 'env: {"": x}', 1, 7, notAVariable],
  ["a NUL in a value", 'env: {A: "x\\0LD_PRELOAD=y"}', 1, 7, "the value contains a NUL character"],
  ["half a character in a value", 'env: {A: "\\ud800"}', 1, 7, "the value contains an unpaired surrogate"],
  ["an endless value", `env: {A: ${"é".repeat(16_385)}}`, 1, 7, "the value is larger than 32 KiB"],
  ["a list for a value", "env: {A: [b]}", 1, 7, "A must be string or number or boolean"],
  ["no value", "env:\n  A:\n", 2, 3, "A must be string or number or boolean"],
  // Files beside the folder
  ["a way out", "inputs:\n  - ok.txt\n  - ../../etc/passwd\n", 3, 5, "contains `..`"],
  ["an absolute input", "inputs: [/etc/shadow]", 1, 10, "is absolute"],
  ["somebody's home", "inputs: [~/.aws/*]", 1, 10, "has a part that begins with `~`"],
  ["a way out in the middle", "inputs: [a/../../b]", 1, 10, "contains `..`"],
  ["a way out in braces", "inputs: ['{.,x}./etc']", 1, 10, "has braces"],
  ["a way out in brackets", "inputs: ['[.][.]/etc/passwd']", 1, 10, "contains `..`"],
  ["a way out in a group", "inputs: ['@(..)/x']", 1, 10, "has a group in parentheses"],
  ["a thousand million inputs", "inputs: ['{1..999999999}']", 1, 10, "has braces"],
  ["a way out with backslashes", "inputs: ['..\\..\\x']", 1, 10, "contains a backslash"],
  ["a NUL in an input", 'inputs: ["a\\0/../../etc"]', 1, 10, "contains control characters"],
  ["an input that is blank", "inputs: ['  ']", 1, 10, "is empty"],
  ["everything but one", "inputs: ['!a']", 1, 10, "begins with `!`"],
  ["an output beside /outputs", "outputs:\n  - ../x\n", 2, 5, "contains `..`"],
  ["an absolute output", "outputs: [/etc/cron.d/x]", 1, 11, "is absolute"],
  ["a pattern for an output", "outputs: ['*.html']", 1, 11, "is a pattern, not a path"],
  ["a line end in an output", 'outputs: ["a\\nb"]', 1, 11, "contains control characters"],
  // Amounts
  ["all the memory", "resources:\n  memory: 999999t\n", 2, 3, '"999999t" is too large'],
  ["no memory", "resources: {memory: 0m}", 1, 13, '"0m" is too small'],
  ["memory without a unit", "resources: {memory: 0}", 1, 13, "memory must be string"],
  ["negative memory", "resources: {cpus: 1, memory: -1g}", 1, 22, "memory does not have the expected form"],
  ["all the disk", "resources: {disk: 9999999t}", 1, 13, '"9999999t" is too large'],
  ["any number of processes", "resources: {pids: -1}", 1, 13, "pids must be >= 16"],
  ["half a process", "resources: {pids: 99.5}", 1, 13, "pids must be integer"],
  ["endless CPUs", "resources: {cpus: .inf}", 1, 13, "cpus must be number"],
  ["CPUs that are no number", "resources: {cpus: .nan}", 1, 13, "cpus must be number"],
  ["CPUs beyond numbers", "resources: {cpus: 1e999}", 1, 13, "cpus must be number"],
  ["no CPUs", "resources: {cpus: 0}", 1, 13, "cpus must be >= 0.01"],
  ["a life of ages", 'ttl: "1000000d"', 1, 1, "ttl does not have the expected form"],
  ["a long life", "ttl: 8d", 1, 1, 'the time to live "8d" is too long'],
  ["no life", "ttl: 0s", 1, 1, 'the time to live "0s" is too short'],
  ["a negative life", "ttl: -1", 1, 1, "ttl must be string"],
  ["a life without a unit", "ttl: 30", 1, 1, "ttl must be string"],
  // The program that reads it
  ["a bomb of aliases", "a: &a [x, x]\nb: &b [*a, *a]\nc: [*b, *b]\n", 1, 4, '"&a" is an anchor'],
  ["an alias of nothing", "name: *x", 1, 7, '"*x" is an alias'],
  ["a bomb of merge keys", "x: &x {env: {}}\n<<: [*x, *x]\n", 1, 4, '"&x" is an anchor'],
  ["a merge key", "name: a\n<<: {privileged: true}\n", 2, 1, "YAML merge keys are not accepted"],
  ["code", "name: !!js/function 'function () {}'", 1, 7, '"!!js/function" is a tag'],
  ["somebody's own tag", "env:\n  A: !include /etc/passwd\n", 2, 6, '"!include" is a tag'],
  ["a tag on the file", "!!map\nname: a\n", 1, 1, '"!!map" is a tag'],
  ["an older YAML", "%YAML 1.1\n---\nname: a\n", 1, 1, "YAML directives are not accepted"],
  ["a prototype", "name: a\n__proto__: {privileged: true}\n", 2, 1, "the key __proto__ is not accepted"],
  ["a prototype among variables", 'env: {"__proto__": x}', 1, 7, "the key __proto__ is not accepted"],
  ["a constructor", "constructor: {prototype: {}}", 1, 1, unknown],
  ["a key that stands twice", "network: none\nname: a\nnetwork: host\n", 3, 1, "appears a second time"],
  ["a key that is no text", "env:\n  1: a\n", 2, 3, "a key must be text"],
  ["a list for a key", "? [a]\n: b\n", 1, 3, "a key must be text"],
  ["a second document", "name: a\n---\nprivileged: true\n", 2, 1, "the file contains a second YAML document"],
  ["ten thousand brackets", `x: ${"[".repeat(10_000)}`, 1, 23, "nested deeper than 20 levels"],
  ["ten thousand dashes", "- ".repeat(10_000), 1, 41, "nested deeper than 20 levels"],
  ["text that turns its direction", "name: a # \u202e\nttl: 1s", 1, 11, "U+202E is not accepted"],
  ["a line end that few editors show", "name: a # \rprivileged: true", 1, 11, "U+000D is not accepted"],
  ["a NUL in the file", "name: a\n\0", 2, 1, "U+0000 is not accepted"],
];

describe("a hostile sandbox.yaml", () => {
  test.each(hostile)("%s is refused at its place", async (_what, text, line, column, problem) => {
    const refusal = await refusalOf(text);

    expect(refusal).toMatchObject({ problem: expect.stringContaining(problem), line, column });
    expect(refusal.hint).not.toBe("");
  });
});

describe("a broken sandbox.yaml", () => {
  test.each([
    ["nothing", "", "the file is empty", 1],
    ["only comments", "# name: a\n", "the file is empty", 1],
    ["only a null", "---\n~\n", "the file is empty", 1],
    ["a word", "bash", "the file must be object", 1],
    ["a list", "- name: a", "the file must be object", 1],
    ["tabs", "resources:\n\tcpus: 1", "invalid YAML: Tabs are not allowed as indentation", 2],
    ["an open quote", 'name: "a', "invalid YAML: Missing closing", 1],
    ["an open bracket", "inputs: [a,\n", "invalid YAML: Flow sequence", 2],
    ["bad indentation", "resources:\n    cpus: 1\n  pids: 16\n", "invalid YAML", 3],
    ["a reserved character", "name: @a", "invalid YAML: Plain value cannot start with", 1],
  ])("%s is one clear error", async (_what, text, problem, line) => {
    expect(await refusalOf(text)).toMatchObject({ problem: expect.stringContaining(problem), line });
  });

  test("bytes that are no UTF-8 are refused", async () => {
    expect((await refusalOf(Uint8Array.of(0x61, 0xff))).problem).toBe("the file is not UTF-8 text");
  });

  test("more than 64 KiB are refused before they are read", async () => {
    expect((await refusalOf(Buffer.alloc(64 * 1024 + 1, "#"))).problem).toBe(
      "the file is larger than 64 KiB",
    );
  });

  test("of several mistakes the first in the file is told", async () => {
    expect(await refusalOf("ttl: 30\nname: A\nvolumes: []\n")).toMatchObject({ line: 1, pointer: "/ttl" });
    expect(await refusalOf("env: {LD_X: 1}\nruntime: -x\n")).toMatchObject({ line: 1, pointer: "/env/LD_X" });
  });

  test("a place has its pointer, and something absent the nearest place around it", () => {
    const { locationOf } = parseYaml(Buffer.from('a:\n  "b/~": [x,\n    y]\n'), "x.yaml");

    expect(locationOf("/a/b~1~0/1")).toEqual({ file: "x.yaml", line: 3, column: 5, pointer: "/a/b~1~0/1" });
    expect(locationOf("/a/missing/deeper")).toMatchObject({ line: 1, column: 1 });
    expect(locationOf("")).toEqual({ file: "x.yaml", line: 1, column: 1 });
  });
});

describe("any text", () => {
  const pieces = [
    ...[
      "&a ",
      "*a",
      "!!str ",
      "!x ",
      "<<: ",
      "- ",
      "? ",
      ": ",
      "\n",
      "\n  ",
      "\t",
      "|\n",
      ">-\n",
      "---\n",
      "...\n",
    ],
    ...[
      "%YAML 1.1\n",
      "#",
      '"',
      "'",
      "{",
      "}",
      "[",
      "]",
      ",",
      "~",
      "null",
      "1e999",
      "\r\n",
      "\\",
      "@",
      "`",
      "__proto__",
    ],
    ...["\0", "\u2028", "\ud83d", "😀", "LD_PRELOAD: x\n", "../", "privileged: true\n", "network: host\n"],
  ];
  const seeds = [full, "{}", ...hostile.map(([, text]) => text).filter((text) => text.length < 1000)];
  const edit = fc.record({
    at: fc.nat(1000),
    remove: fc.nat(12),
    insert: fc.oneof(fc.constantFrom(...pieces), fc.string({ maxLength: 4, unit: "binary" })),
  });
  const mutated = fc
    .tuple(fc.constantFrom(...seeds), fc.array(edit, { minLength: 1, maxLength: 6 }))
    .map(([seed, edits]) =>
      edits.reduce((text, { at, remove, insert }) => {
        const start = at % (text.length + 1);
        return text.slice(0, start) + insert + text.slice(start + remove);
      }, seed),
    );

  test("is a spec that stays in its bounds, or refused at a place with a reason", async () => {
    await fc.assert(
      fc.asyncProperty(mutated, async (text) => {
        const outcome = await parse(text).catch((error: unknown) => error);

        if (outcome instanceof SwarmError) {
          expect(outcome.code).toBe("SANDBOX_SPEC_INVALID");
          expect(outcome.report()).toMatchObject({
            hint: expect.any(String),
            details: { place: { line: expect.any(Number), column: expect.any(Number) } },
          });
          return;
        }
        if (outcome instanceof Error) throw outcome;
        expectBounded(outcome as SandboxSpec);
      }),
      { numRuns: 600 },
    );
  });

  function expectBounded(spec: SandboxSpec): void {
    expect(Object.keys(spec).sort()).toEqual(Object.keys(toSandboxSpec({})).sort());
    expect(Object.keys(spec.env).filter((name) => !/^(?!LD_)[A-Za-z_]\w*$/.test(name))).toEqual([]);
    expect([...spec.inputs, ...spec.outputs].filter((path) => /^[/~]|(^|\/)\.\.(\/|$)/.test(path))).toEqual(
      [],
    );
    expect(spec.ttlMs).toBeGreaterThanOrEqual(1000);
    expect(spec.ttlMs).toBeLessThanOrEqual(7 * 86_400_000);
    if (spec.runtime.kind === "image") expect(spec.runtime.image).toMatch(/^[A-Za-z0-9][\w.:/@-]*$/);
  }
});
