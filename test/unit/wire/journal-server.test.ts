import { once } from "node:events";
import { join } from "node:path";
import { setImmediate } from "node:timers/promises";
import { describe, expect } from "vitest";
import { type JournalClient, openJournalServer } from "../../../src/wire/journal-server.ts";
import type { NumberedLines } from "../../../src/wire/numbered-lines.ts";
import { test } from "../../fakes/folders.ts";
import { openConnection } from "../../fakes/gateway/raw-connection.ts";

/** More than any socket takes while nobody reads. */
const backlog = Buffer.from(`${JSON.stringify({ seq: 1, text: "x".repeat(8 << 20) })}\n`);
const journal: NumberedLines = {
  lastSeq: 1,
  async *read() {
    yield backlog;
  },
};

describe("somebody who is attached and reads slowly", () => {
  test("misses no answer, and perhaps what may be dropped", async ({ folder }) => {
    const path = join(folder, "socket");
    const heard = Promise.withResolvers<JournalClient>();
    await using listeners = await openJournalServer(path, {
      ...{ journal, hello: () => '{"hello":true}' },
      onMessage: (_message, listener) => heard.resolve(listener),
    });
    const socket = openConnection(path);
    socket.write('{"from":0}\n{"question":1}\n');
    const listener = await heard.promise;
    while (listeners.count === 0) await setImmediate();
    await setImmediate();

    listener.send('{"news":1}');
    listener.sendQueued('{"answer":1}');
    listeners.broadcastQueued('{"login":1}');

    let text = "";
    socket.on("data", (piece: Buffer) => {
      text += piece;
      if (text.includes("login")) socket.destroy();
    });
    await once(socket, "close");
    expect(text.slice(-60)).toContain('{"answer":1}\n{"login":1}\n');
    expect(text.slice(-60)).not.toContain("news");
  });
});
