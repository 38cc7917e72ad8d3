import { mkdir, readdir, readFile, writeFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { Ajv, type ValidateFunction } from "ajv";
import { build } from "esbuild";
import { compile } from "json-schema-to-typescript";
import { writeProtocolPage } from "./protocol-tables.ts";

const standaloneCode: (ajv: Ajv, validate: ValidateFunction) => string = createRequire(import.meta.url)(
  "ajv/dist/standalone",
).default;

const root: URL = new URL("../", import.meta.url);

/**
 * Generates the validators, which are not checked in. The types are checked in: a build that wrote them would hide stale ones.
 */
export async function generateValidators(): Promise<void> {
  await writeValidators(await readSchemas());
}

/** The TypeScript types of each schema, by file name; a test compares them with the checked-in files. */
export async function typesOfSchemas(): Promise<Map<string, string>> {
  return typesFrom(await readSchemas());
}

type Schemas = ReadonlyMap<string, Record<string, unknown>>;

async function readSchemas(): Promise<Schemas> {
  const files = (await readdir(new URL("schemas/", root)))
    .filter((file) => file.endsWith(".schema.json"))
    .sort();
  return new Map(
    await Promise.all(
      files.map(async (file) => {
        const schema: Record<string, unknown> = JSON.parse(
          await readFile(new URL(`schemas/${file}`, root), "utf8"),
        );
        return [file.replace(".schema.json", ""), schema] as const;
      }),
    ),
  );
}

async function typesFrom(schemas: Schemas): Promise<Map<string, string>> {
  const types = new Map<string, string>();
  for (const [name, schema] of schemas) {
    const text = await compile(structuredClone(schema), name, {
      additionalProperties: false,
      bannerComment: `// Made from schemas/${name}.schema.json by scripts/generate.ts. Change the schema, not this file.`,
      ignoreMinAndMaxItems: true,
      style: { printWidth: 110 },
    });
    types.set(`${name}.ts`, readonly(text));
  }
  return types;
}

async function writeTypes(schemas: Schemas): Promise<void> {
  const folder = new URL("src/contract/", root);
  await mkdir(folder, { recursive: true });
  for (const [file, text] of await typesFrom(schemas)) await writeFile(new URL(file, folder), text);
}

function readonly(types: string): string {
  return types
    .replace(/^(\s+)(\$?\w+\??: )/gm, "$1readonly $2")
    .replace(/: (\w+)\[\];$/gm, ": readonly $1[];");
}

/** Writes one file without imports for each schema, so that a process loads neither ajv nor validators that it does not use. */
async function writeValidators(schemas: Schemas): Promise<void> {
  const folder = new URL("src/schema/generated/", root);
  await mkdir(folder, { recursive: true });
  for (const [name, schema] of schemas) {
    // Users want all errors of their file; for protocol messages, which come by the thousand, the first error is enough.
    const allErrors = !["acp", "gateway"].includes(name);
    const ajv = new Ajv({
      allErrors,
      allowUnionTypes: true,
      discriminator: true,
      code: { source: true, esm: true },
    });
    await build({
      stdin: { contents: standaloneCode(ajv, ajv.compile(schema)), resolveDir: root.pathname, loader: "js" },
      bundle: true,
      format: "esm",
      platform: "node",
      minifySyntax: true,
      minifyWhitespace: true,
      outfile: new URL(`${name}.js`, folder).pathname,
      logLevel: "error",
    });
    await writeFile(
      new URL(`${name}.d.ts`, folder),
      'import type { ValidateFunction } from "ajv";\ndeclare const validate: ValidateFunction;\nexport default validate;\n',
    );
  }
}

if (import.meta.main) {
  await writeTypes(await readSchemas());
  await writeProtocolPage();
  await generateValidators();
}
