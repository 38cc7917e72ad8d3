import { createReadStream } from "node:fs";
import { type TakeInPoint, takeIn } from "../../src/host/take-in.ts";
import type { WorkToTakeIn } from "../../src/ports/work-repository.ts";

/** Takes work in and is killed at a point of it; `storing` is in the middle of the stream. */
const [commonFolder = "", file = "", point = "", text = ""] = process.argv.slice(2);
const work: Omit<WorkToTakeIn, "bundle"> = JSON.parse(text);

function dieAt(here: TakeInPoint | "storing"): void {
  if (here === point) process.kill(process.pid, "SIGKILL");
}

async function* bytes(): AsyncGenerator<Uint8Array> {
  for await (const chunk of createReadStream(file, { highWaterMark: 64 })) {
    yield chunk as Buffer;
    dieAt("storing");
  }
}

await takeIn({ commonFolder, reached: dieAt }, { ...work, bundle: bytes() });
