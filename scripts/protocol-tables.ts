import { readFile, writeFile } from "node:fs/promises";
import { workerErrorCodes } from "../src/protocol/rules/worker-error-codes.ts";

const root: URL = new URL("../", import.meta.url);
const page: URL = new URL("docs/protocol.md", root);

interface Schema {
  readonly description?: string;
  readonly type?: string | readonly string[];
  readonly const?: string;
  readonly enum?: readonly string[];
  readonly pattern?: string;
  readonly $ref?: string;
  readonly items?: Schema;
  readonly required?: readonly string[];
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly maxLength?: number;
  readonly maxItems?: number;
  readonly minimum?: number;
}

type Definitions = Readonly<Record<string, Schema>>;

/** The expected text of `docs/protocol.md`: the tables between its marks come from the schema and the table of codes. */
export async function protocolPage(): Promise<string> {
  const { definitions, oneOf } = JSON.parse(
    await readFile(new URL("schemas/acp.schema.json", root), "utf8"),
  ) as { definitions: Definitions; oneOf: readonly Schema[] };
  const messages = oneOf.map((each) => resolve(each, definitions));
  const fromAdapter = messages.filter(({ properties }) => properties?.["attempt"]);
  const toAdapter = messages.filter(({ properties }) => !properties?.["attempt"]);
  const parts: Readonly<Record<string, string>> = {
    "to-adapter": toAdapter.map((message) => describeMessage(message, definitions)).join("\n"),
    "from-adapter": fromAdapter.map((message) => describeMessage(message, definitions)).join("\n"),
    codes: codeTable(),
  };
  return (await readFile(page, "utf8")).replace(
    /(<!-- made: ([a-z-]+) -->\n)[\s\S]*?(<!-- end -->)/g,
    (_all, start: string, name: string, end: string) => `${start}\n${parts[name] ?? ""}\n${end}`,
  );
}

function resolve(schema: Schema, definitions: Definitions): Schema {
  const name = schema.$ref?.split("/").at(-1);
  const target = name === undefined ? undefined : definitions[name];
  if (!target) return schema;
  return {
    ...resolve(target, definitions),
    ...(schema.description ? { description: schema.description } : {}),
  };
}

function describeMessage({ description, properties }: Schema, definitions: Definitions): string {
  const type = properties?.["type"]?.const ?? "";
  const payload = resolve(properties?.["payload"] ?? {}, definitions);
  const rows = fieldRows(payload, definitions, "");
  return [
    `### \`${type}\``,
    "",
    description ?? "",
    "",
    "| field | value | |",
    "|---|---|---|",
    ...rows,
    "",
  ].join("\n");
}

function fieldRows(
  { properties = {}, required = [] }: Schema,
  definitions: Definitions,
  prefix: string,
): string[] {
  return Object.entries(properties).flatMap(([name, field]) => {
    const schema = resolve(field, definitions);
    const isOptional = !required.includes(name);
    const own = `| \`${prefix}${name}\`${isOptional ? "?" : ""} | ${describeValue(schema, definitions)} | ${schema.description ?? ""} |`;
    const inner = schema.properties ? fieldRows(schema, definitions, `${prefix}${name}.`) : [];
    const item = schema.items ? resolve(schema.items, definitions) : undefined;
    const items = item?.properties ? fieldRows(item, definitions, `${prefix}${name}[].`) : [];
    return [own, ...inner, ...items];
  });
}

function describeValue(schema: Schema, definitions: Definitions): string {
  if (schema.enum) return schema.enum.map((value) => `\`${value}\``).join(", ");
  const type = [schema.type ?? "object"].flat().join(" or ");
  if (schema.items) {
    const item = resolve(schema.items, definitions);
    return `list of ${[item.type ?? "object"].flat().join(" or ")}s${schema.maxItems ? `, at most ${schema.maxItems}` : ""}`;
  }
  const pattern = schema.pattern ? ` \`${schema.pattern.replaceAll("|", "\\|")}\`` : "";
  return `${type}${schema.maxLength ? `, at most ${schema.maxLength} characters` : ""}${pattern}`;
}

function codeTable(): string {
  return [
    "| code | said by | meaning |",
    "|---|---|---|",
    ...Object.entries(workerErrorCodes).map(
      ([code, { by, meaning }]) => `| \`${code}\` | ${by} | ${meaning} |`,
    ),
    "",
  ].join("\n");
}

export async function writeProtocolPage(): Promise<void> {
  await writeFile(page, await protocolPage());
}
