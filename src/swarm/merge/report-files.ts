import { mkdir, readFile } from "node:fs/promises";
import { dirname } from "node:path";
import writeFileAtomic from "write-file-atomic";
import { refuseLinkOutside } from "../../machine/path-containment.ts";
import { findSchemaViolations } from "../../schema/find-violations.ts";

/** Reads a JSON file; returns null if the file is missing, is no JSON, or does not match the schema. */
export async function readReportFile<Content>(
  file: string,
  schema?: Parameters<typeof findSchemaViolations>[0],
): Promise<Content | null> {
  try {
    const value = JSON.parse(await readFile(file, "utf8"));
    return schema === undefined || (await findSchemaViolations(schema, value)).length === 0 ? value : null;
  } catch {
    return null;
  }
}

export async function writeReportFile(root: string, file: string, value: object): Promise<void> {
  await refuseLinkOutside(root, file);
  await mkdir(dirname(file), { recursive: true });
  await writeFileAtomic(file, `${JSON.stringify(value, null, 2)}\n`);
}
