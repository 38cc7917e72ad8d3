import { Writable } from "node:stream";
import { setTimeout as delay } from "node:timers/promises";
import Docker from "dockerode";
import { openDockerEngine } from "../../../src/engine/docker/open-engine.ts";
import { engineHelp } from "./engine-at.ts";

/**
 * node --expose-gc flood-process.ts <endpoint> <container> <bytes> <how>: has a program in a container write so many bytes,
 * reads them slowly, and prints by how much this process grew meanwhile. `ours` reads as the product does, `dockerode` as
 * its own documentation says.
 */
const [endpoint = "", id = "", bytes = "0", how = "ours"] = process.argv.slice(2);
const command = ["head", "--bytes", bytes, "/dev/zero"];
const rest = 64 * 1024;

let before = 0;
let most = 0;
let read = 0;

/** One millisecond for every 64 KiB is slower than any program writes. */
async function takeSlowly(length: number): Promise<void> {
  const rests = Math.floor((read + length) / rest) - Math.floor(read / rest);
  read += length;
  if (rests > 0) await delay(rests);
  look();
}

/** Garbage is not what is held. */
let looked = 0;
function look(): void {
  if (read - looked < 4_000_000 && before > 0) return;
  looked = read;
  globalThis.gc?.();
  const now = process.memoryUsage.rss();
  if (before === 0) before = now;
  most = Math.max(most, now - before);
}

if (how === "ours") {
  const { containers } = openDockerEngine(endpoint, await engineHelp(endpoint));
  await using execution = await containers.exec(id, { command, input: false });
  for await (const chunk of execution.output) await takeSlowly(chunk.bytes.length);
  tell(await execution.exit());
} else {
  const docker = new Docker({ socketPath: endpoint.replace("unix://", "") });
  const exec = await docker.getContainer(id).exec({ Cmd: command, AttachStdout: true, AttachStderr: true });
  const socket = await exec.start({ hijack: true, stdin: false });
  const reader = new Writable({
    write: (chunk: Buffer, _encoding, taken) => void takeSlowly(chunk.length).then(() => taken()),
  });
  docker.modem.demuxStream(socket, reader, reader);
  await new Promise((resolve) => socket.once("end", resolve));
  globalThis.gc?.();
  most = Math.max(most, process.memoryUsage.rss() - before);
  // What is still held would be read for a long time.
  tell(null);
  process.exit();
}

function tell(exit: unknown): void {
  process.stdout.write(`${JSON.stringify({ grownBytes: most, readBytes: read, exit })}\n`);
}
