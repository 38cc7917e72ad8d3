import { createReadStream } from "node:fs";
import { type ImportCrashPoint, importBundle } from "../../../src/git/import-bundle.ts";
import type { BundleToImport } from "../../../src/git/work-repository-port.ts";

/** Takes work in and is killed at a point of it; `storing` is in the middle of the stream. */
const [commonFolder = "", file = "", point = "", text = ""] = process.argv.slice(2);
const work: Omit<BundleToImport, "bundle"> = JSON.parse(text);

function dieAt(here: ImportCrashPoint | "storing"): void {
  if (here === point) process.kill(process.pid, "SIGKILL");
}

async function* bytes(): AsyncGenerator<Uint8Array> {
  for await (const chunk of createReadStream(file, { highWaterMark: 64 })) {
    yield chunk as Buffer;
    dieAt("storing");
  }
}

await importBundle({ commonFolder, onPoint: dieAt }, { ...work, bundle: bytes() });
