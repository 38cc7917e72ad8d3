import { createServer } from "node:net";
import { join } from "node:path";
import { PassThrough } from "node:stream";
import { text } from "node:stream/consumers";
import { describe, expect, vi } from "vitest";
import { attachToSocket } from "../../../src/wire/attach-to-socket.ts";
import { test } from "../../fakes/folders.ts";

describe("attaching to a program", () => {
  test("that begins to listen a moment later is no failure", async ({ folder }) => {
    const socketFile = join(folder, "socket");
    const [input, output, reportProblem] = [new PassThrough(), new PassThrough(), vi.fn()];

    const ended = attachToSocket(socketFile, 7, { input, output, reportProblem });
    const server = createServer((socket) => socket.once("data", (asked) => socket.end(asked)));
    await new Promise<void>((resolve) => server.listen(socketFile, resolve));

    expect(await ended).toBe(0);
    server.close();
    output.end();
    expect(await text(output)).toBe('{"from":7}\n');
    expect(reportProblem).not.toHaveBeenCalled();
  });

  test("of which there is none ends with that", async ({ folder }) => {
    const complain = vi.fn();
    const streams = { input: new PassThrough(), output: new PassThrough(), reportProblem: complain };

    // Not a place at which anybody could begin to listen, so nobody is waited for.
    expect(await attachToSocket(folder.replaceAll(/./g, "x").repeat(20), 0, streams)).toBe(3);
    expect(complain).toHaveBeenCalledWith(expect.stringContaining("no program listens on the socket: "));
  });
});
