import { createReadStream } from "node:fs";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import ndjson from "ndjson";
import { textLines } from "./text-lines.ts";

/**
 * Yields the JSON values of a file that has one value per line. Drops lines that are not JSON or are longer
 * than `maxLength`.
 */
export async function* readJsonLines(
  file: string,
  options: { readonly maxLength: number },
): AsyncGenerator<unknown> {
  const parsed = ndjson.parse({ strict: false });
  const lines = Readable.from(linesOfObjects(file, options));
  const done = pipeline(lines, parsed).catch((error: Error) => parsed.destroy(error));
  for await (const value of parsed) yield value;
  await done;
}

/** Yields lines with their line breaks. Drops the line `null`, because ndjson would end at this value. */
async function* linesOfObjects(
  file: string,
  options: { readonly maxLength: number },
): AsyncGenerator<string> {
  for await (const line of textLines(createReadStream(file), options))
    if (line.trim() !== "null") yield `${line}\n`;
}
