import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { transformSync } from "esbuild";
import { expect, test } from "vitest";
import { protocolPage } from "../../../scripts/protocol-tables.ts";
import { workerErrorCodes } from "../../../src/protocol/rules/worker-error-codes.ts";

const root = fileURLToPath(new URL("../../..", import.meta.url));
const textOf = (folder: string, ending: string): string =>
  readdirSync(join(root, folder), { recursive: true, encoding: "utf8" })
    .filter(
      (file) =>
        file.endsWith(ending) && !file.endsWith("worker-error-codes.ts") && !file.startsWith("contract/"),
    )
    .map((file) => readFileSync(join(root, folder, file), "utf8"))
    .join("\n");

const sources = { adapter: textOf("adapter", ".ts"), host: textOf("src", ".ts") };

test("the protocol's page shows the messages and codes as they are; `npm run generate` makes it so", async () => {
  expect(readFileSync(join(root, "docs/protocol.md"), "utf8")).toBe(await protocolPage());
});

test.for(Object.entries(workerErrorCodes))("%s is said by whom the page says", ([code, { by }]) => {
  const producers = by === "either" ? (["adapter"] as const) : ([by] as const);
  for (const producer of producers) expect(sources[producer]).toContain(`"${code}"`);
});

test("a test on a real engine expects each code that an adapter says, and any test each of the host's", () => {
  const onEngine = expectationsIn("test/engine", "test/agents");
  const anywhere = `${onEngine}\n${expectationsIn("test/unit", "test/contract", "test/crash")}`;

  const unexpected = Object.entries(workerErrorCodes).flatMap(([code, { by }]) =>
    new RegExp(`\\b${code}\\b`).test(by === "host" ? anywhere : onEngine) ? [] : [code],
  );

  expect(unexpected).toEqual([]);
});

test.for<[text: string, isSeen: boolean]>([
  ['expect(end).toMatchObject({ code: "THE_CODE" });', true],
  ['test.for([["THE_CODE", 1]])("%s", ([code]) => {});', true],
  ['const rows: string[] = [\n  "THE_CODE",\n];\ntest.each(rows)("%s", () => {});', true],
  ['// expect(end).toBe("THE_CODE")\nexpect(end).toBe(1);', false],
  ['test("THE_CODE", () => { expect(end).toBe(1); send({ code: "THE_CODE" }); });', false],
  ['const rows = [\n  "THE_CODE",\n];\nsend(rows);', false],
])("a code in %j counts: %s", ([text, isSeen]) => {
  expect(expectationsOf(text).includes("THE_CODE")).toBe(isSeen);
});

/** What these tests expect and the tables that they go through, without comments. What else stands there is only said. */
function expectationsIn(...folders: readonly string[]): string {
  return folders
    .flatMap((folder) =>
      readdirSync(join(root, folder), { recursive: true, encoding: "utf8" }).map((file) =>
        join(root, folder, file),
      ),
    )
    .filter((file) => file.endsWith(".test.ts") && file !== fileURLToPath(import.meta.url))
    .map((file) => expectationsOf(readFileSync(file, "utf8")))
    .join("\n");
}

function expectationsOf(text: string): string {
  // It leaves comments and types out, and ends each statement and each line with a table in one way.
  const { code } = transformSync(text, { loader: "ts", legalComments: "none" });
  const tables = [...code.matchAll(/\.(?:for|each)\((\w+)\)/g)].map(([, name]) => name);
  return [
    ...code.matchAll(/\bexpect(?:ed)?[(.].*?;\n/gs),
    ...code.matchAll(/\.(?:for|each)\(\[.*?\]\)\(/gs),
    ...tables.flatMap((name) => [
      ...code.matchAll(new RegExp(`^( *)const ${name} = \\[\\n.*?\\n\\1\\];\\n`, "gms")),
    ]),
  ]
    .map(([found]) => found)
    .join("\n");
}
