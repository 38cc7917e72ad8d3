import { Readable, Writable } from "node:stream";
import { setImmediate as nextTurn } from "node:timers/promises";
import Docker from "dockerode";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { demultiplex } from "../../../../../src/engine/docker/exec/demultiplex.ts";

type Stream = "stdout" | "stderr";
type Message = readonly [stream: Stream, text: string];

function frame([stream, text]: Message): Buffer {
  return raw(stream === "stdout" ? 1 : 2, Buffer.from(text));
}

function raw(type: number, content: Uint8Array): Buffer {
  const header = Buffer.alloc(8);
  header[0] = type;
  header.writeUInt32BE(content.length, 4);
  return Buffer.concat([header, content]);
}

async function* sourceOf(pieces: Iterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  yield* pieces;
}

/** What was read, pieces of one stream that follow each other put together. */
async function read(
  pieces: Iterable<Uint8Array>,
  into: [Stream, string][] = [],
): Promise<[Stream, string][]> {
  for await (const { stream, bytes } of demultiplex(sourceOf(pieces), "a program")) {
    const last = into.at(-1);
    const text = Buffer.from(bytes).toString("latin1");
    if (last?.[0] === stream) last[1] += text;
    else into.push([stream, text]);
  }
  return into;
}

const messages: readonly Message[] = [
  ["stdout", "one"],
  ["stderr", "two and more"],
  ["stdout", ""],
  ["stdout", "3"],
  ["stderr", "four"],
];
const whole = Buffer.concat(messages.map(frame));
const expected = [
  ["stdout", "one"],
  ["stderr", "two and more"],
  ["stdout", "3"],
  ["stderr", "four"],
];

describe("what a program writes, out of one framed stream", () => {
  test("comes out the same wherever the stream is cut in three", async () => {
    for (let first = 0; first <= whole.length; first += 1)
      for (let second = first; second <= whole.length; second += 1)
        expect(
          await read([whole.subarray(0, first), whole.subarray(first, second), whole.subarray(second)]),
        ).toEqual(expected);
  });

  test("comes out the same byte by byte", async () => {
    expect(await read([...whole].map((byte) => Uint8Array.of(byte)))).toEqual(expected);
  });

  test("is whole and in order, whatever it is and however it arrives", async () => {
    const message = fc.tuple(
      fc.constantFrom<Stream>("stdout", "stderr"),
      fc.string({ unit: fc.integer({ min: 0, max: 255 }).map((code) => String.fromCharCode(code)) }),
    );
    await fc.assert(
      fc.asyncProperty(
        fc.array(message),
        fc.array(fc.integer({ min: 1, max: 30 }), { minLength: 1 }),
        async (written, lengths) => {
          const frames = written.map(([stream, text]) =>
            raw(stream === "stdout" ? 1 : 2, Buffer.from(text, "latin1")),
          );
          const bytes = Buffer.concat(frames);
          const pieces: Buffer[] = [];
          for (let at = 0, turn = 0; at < bytes.length; turn += 1) {
            const length = lengths[turn % lengths.length] ?? 1;
            pieces.push(bytes.subarray(at, at + length));
            at += length;
          }

          const out = await read(pieces);

          const told = (stream: Stream, list: readonly Message[]): string =>
            list.flatMap(([of, text]) => (of === stream ? [text] : [])).join("");
          expect(out.map(([, text]) => text).join("")).toBe(written.map(([, text]) => text).join(""));
          expect(told("stdout", out)).toBe(told("stdout", written));
          expect(told("stderr", out)).toBe(told("stderr", written));
        },
      ),
    );
  });

  test("is not held back until a message is complete, however long it says it is", async () => {
    const header = raw(1, Buffer.alloc(0)).fill(0xff, 4);
    const output = demultiplex(sourceOf([header, Buffer.from("begun")]), "a program");

    expect(await output.next()).toMatchObject({ value: { stream: "stdout", bytes: Buffer.from("begun") } });
    await output.return(undefined);
  });
});

describe("a stream that is not what it should be", () => {
  test.each([
    ["an unknown type", raw(4, Buffer.from("x"))],
    ["something in the place of the zeros", Buffer.from([1, 0, 7, 0, 0, 0, 0, 1, 65])],
    ["plain text", Buffer.from("plain text as a terminal would get it\n")],
    [
      "bytes of nowhere after a good message",
      Buffer.concat([frame(["stdout", "good"]), Buffer.alloc(16, 9)]),
    ],
  ])("%s ends in EXEC_FAILED", async (_name, bytes) => {
    await expect(read([bytes])).rejects.toMatchObject({
      code: "EXEC_FAILED",
      message: expect.stringContaining("invalid frame header"),
    });
  });

  test("the engine's own error in its midst is told in its words", async () => {
    const before: [Stream, string][] = [];
    const bytes = [frame(["stdout", "good"]), raw(3, Buffer.from("Error grabbing logs: invalid character"))];

    await expect(read(bytes, before)).rejects.toMatchObject({
      code: "EXEC_FAILED",
      message: expect.stringContaining("Error grabbing logs: invalid character"),
    });
    expect(before).toEqual([["stdout", "good"]]);
  });

  test("broken off within a message it is no end: what arrived is given, then ENGINE_UNREACHABLE", async () => {
    const ends = new Map<number, readonly [Stream, string][]>();
    for (let cut = 0; cut < whole.length; cut += 1) {
      const given: [Stream, string][] = [];
      const failure = await read([whole.subarray(0, cut)], given).catch((error: unknown) => error);
      if (failure instanceof Error)
        expect(failure).toMatchObject({ code: "ENGINE_UNREACHABLE", exitCode: 3 });
      else ends.set(cut, given);
      const text = given.map(([, part]) => part).join("");
      expect("onetwo and more3four".startsWith(text)).toBe(true);
    }

    // Only between messages nothing shows that more was to come.
    expect([...ends.keys()]).toEqual([0, 11, 31, 39, 48]);
  });
});

describe("a reader that takes its time", () => {
  const flood = 200;
  const piece = frame(["stdout", "x".repeat(10_000)]);

  test("makes the source wait: nothing is fetched before it is asked for", async () => {
    let fetched = 0;
    let closed = false;
    async function* counted(): AsyncGenerator<Uint8Array> {
      try {
        for (; fetched < flood; fetched += 1) yield piece;
      } finally {
        closed = true;
      }
    }

    const output = demultiplex(counted(), "a program");
    await output.next();
    await nextTurn();
    const [afterOne] = [fetched];
    await output.next();
    await nextTurn();

    expect([afterOne, fetched]).toEqual([0, 1]);
    await output.return(undefined);
    expect(closed).toBe(true);
  });

  test("control: dockerode's own demultiplexer fetches all of it while nobody takes anything", async () => {
    let fetched = 0;
    const source = new Readable({
      read() {
        fetched += 1;
        this.push(fetched > flood ? null : piece);
      },
    });
    // A writable that never finishes with its first piece.
    const stuck = new Writable({ write: () => {} });

    new Docker().modem.demuxStream(source, stuck, stuck);
    await new Promise((resolve) => source.once("end", resolve));

    expect(fetched).toBeGreaterThan(flood);
    expect(stuck.writableLength).toBeGreaterThan((flood - 1) * 10_000);
  });
});
