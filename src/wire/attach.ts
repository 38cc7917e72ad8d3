import { connect, type Socket } from "node:net";
import { setTimeout as delay } from "node:timers/promises";

export interface AttachStreams {
  readonly input: NodeJS.ReadableStream;
  readonly output: NodeJS.WritableStream;
  readonly complain: (line: string) => void;
}

/** Who attaches to a container that was just started is often a little early, and another attempt from outside takes longer. */
const [patienceMs, askEveryMs] = [2_000, 20];

/** Joins the streams to the program that listens there, from the message behind `from` on. It goes on whatever happens here. */
export async function attach(
  socketFile: string,
  from: number,
  { input, output, complain }: AttachStreams,
): Promise<number> {
  let socket: Socket;
  try {
    socket = await connected(socketFile);
  } catch (error) {
    complain(`there is nobody to attach to: ${(error as Error).message}`);
    return 3;
  }
  return new Promise((resolve) => {
    const end = (code: number) => {
      socket.destroy();
      resolve(code);
    };
    socket.once("error", (error) => {
      complain(`the line broke: ${error.message}`);
      end(3);
    });
    socket.once("close", () => end(0));
    input.once("end", () => end(0));
    input.once("error", () => end(0));
    output.once("error", () => end(0));
    socket.write(`${JSON.stringify({ from })}\n`);
    input.pipe(socket);
    socket.pipe(output, { end: false });
  });
}

/** A line to whoever listens there, or will in a moment. */
async function connected(socketFile: string): Promise<Socket> {
  const startedAt = performance.now();
  for (;;) {
    const { promise, resolve, reject } = Promise.withResolvers<Socket>();
    const socket = connect(socketFile);
    socket.once("connect", () => resolve(socket)).once("error", reject);
    try {
      return await promise;
    } catch (error) {
      const isEarly = ["ENOENT", "ECONNREFUSED"].includes((error as NodeJS.ErrnoException).code ?? "");
      if (!isEarly || performance.now() - startedAt > patienceMs) throw error;
      await delay(askEveryMs);
    }
  }
}
