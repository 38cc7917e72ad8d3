import { execFile } from "node:child_process";
import { PassThrough } from "node:stream";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, inject, test } from "vitest";
import type { Containers } from "../../../src/engine/containers.ts";
import { baseImage } from "../../../src/engine/rules/base-image.ts";
import { count } from "../../counts.ts";
import { specOf } from "../../fakes/engine/containers-suite.ts";
import { dockerAt, openEngine } from "../../fakes/engine/engine-at.ts";

const endpoint = inject("endpoint");
const program = fileURLToPath(new URL("../../fakes/engine/flood-process.ts", import.meta.url));
const megabyte = 1_000_000;

let containers: Containers;
let id = "";

beforeAll(async () => {
  ({ containers } = await openEngine(endpoint).open());
  ({ id } = await containers.create(specOf(baseImage, "runc")));
  await containers.start(id);
});

afterAll(() => containers.remove(id));

interface Flooded {
  readonly grownBytes: number;
  readonly readBytes: number;
  readonly exit: unknown;
}

/** In a process of its own, so that only its memory counts. */
async function flood(how: "ours" | "dockerode"): Promise<Flooded> {
  const args = ["--expose-gc", program, endpoint, id, String(count.floodBytes), how];
  const { stdout } = await promisify(execFile)(process.execPath, args);
  return JSON.parse(stdout);
}

async function run(...command: string[]): Promise<string> {
  await using execution = await containers.exec(id, { command, input: false });
  const chunks = await Array.fromAsync(execution.output);
  return Buffer.concat(chunks.map(({ bytes }) => bytes)).toString();
}

describe(`${count.floodBytes / megabyte} MB out of a container into a slow reader`, () => {
  test("are read whole, and this process does not grow with them", async ({ annotate }) => {
    const { grownBytes, readBytes, exit } = await flood("ours");
    await annotate(`grew by ${Math.round(grownBytes / megabyte)} MB`);

    expect({ readBytes, exit }).toEqual({ readBytes: count.floodBytes, exit: { kind: "exited", code: 0 } });
    expect(grownBytes).toBeLessThan(50 * megabyte);
  });

  test("control: as dockerode reads them, they are held in memory", async ({ annotate }) => {
    const { grownBytes } = await flood("dockerode");
    await annotate(`grew by ${Math.round(grownBytes / megabyte)} MB`);

    expect(grownBytes).toBeGreaterThan(150 * megabyte);
  });
});

describe("a reader that does not read at all", () => {
  const size = 64 * megabyte;
  // Notes its process id, so that one can look how far it has come, and that it is done.
  const writer = 'rm -f /tmp/done; head -c "$0" /dev/zero & echo $! >/tmp/pid; wait $!; touch /tmp/done';
  const command = ["sh", "-c", writer, String(size)];

  async function writtenBytes(): Promise<number> {
    const counters = await run("sh", "-c", 'cat /proc/"$(cat /tmp/pid)"/io 2>/dev/null');
    return Number(/^wchar: (\d+)$/m.exec(counters)?.[1] ?? 0);
  }

  /** How far the writer has come when it comes no further. */
  async function untilItStands(): Promise<number> {
    for (let before = -1; ; ) {
      const written = await writtenBytes();
      if (written === before && written > 0) return written;
      before = written;
    }
  }

  const isDone = async (): Promise<boolean> => (await run("ls", "/tmp")).includes("done");

  test("stalls the writer, which goes on as soon as it reads", async () => {
    await using execution = await containers.exec(id, { command, input: false });

    const stalledAt = await untilItStands();
    const doneUnread = await isDone();
    let read = 0;
    for await (const { bytes } of execution.output) read += bytes.length;

    expect(stalledAt).toBeLessThan(16 * megabyte);
    expect(doneUnread).toBe(false);
    expect(read).toBe(size);
    expect(await execution.exit()).toEqual({ kind: "exited", code: 0 });
    expect(await isDone()).toBe(true);
  });

  test("control: behind dockerode's demultiplexer the writer is done before anybody has read anything", async () => {
    const docker = dockerAt(endpoint);
    const exec = await docker.getContainer(id).exec({ Cmd: command, AttachStdout: true, AttachStderr: true });
    const socket = await exec.start({ hijack: true, stdin: false });
    const unread = new PassThrough();

    docker.modem.demuxStream(socket, unread, unread);
    await new Promise((resolve) => socket.once("end", resolve));

    expect(await isDone()).toBe(true);
    expect(unread.readableLength + unread.writableLength).toBeGreaterThanOrEqual(size);
  });
});

describe("a program that takes its input slowly", () => {
  const pieceBytes = 64 * 1024;
  const pieces = 500;

  test("makes the writer wait, and the waiting leaves nothing behind", async () => {
    const warnings: string[] = [];
    const onWarning = ({ name }: Error): void => void warnings.push(name);
    process.on("warning", onWarning);
    await run("mkfifo", "/tmp/begin");
    // Begins to take when it is told to.
    const slowly = ["sh", "-c", "read -r _ </tmp/begin; wc -c"];
    await using execution = await containers.exec(id, { command: slowly, input: true });

    let written = 0;
    const writing = (async () => {
      for (; written < pieces; written += 1) await execution.write(Buffer.alloc(pieceBytes));
      await execution.endInput();
    })();
    // By the time that another program has come and gone, everything would long have been written.
    await run("true");
    const writtenUntaken = written;
    await run("sh", "-c", "echo >/tmp/begin");
    await writing;
    const chunks = await Array.fromAsync(execution.output);
    process.off("warning", onWarning);

    expect(writtenUntaken * pieceBytes).toBeLessThan(16 * megabyte);
    expect(Buffer.concat(chunks.map(({ bytes }) => bytes)).toString()).toBe(`${pieces * pieceBytes}\n`);
    expect(warnings).toEqual([]);
  });
});
