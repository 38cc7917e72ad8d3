import { connect, type Socket } from "node:net";
import { setTimeout as delay } from "node:timers/promises";

export interface AttachStreams {
  readonly input: NodeJS.ReadableStream;
  readonly output: NodeJS.WritableStream;
  readonly reportProblem: (line: string) => void;
}

/**
 * For how long to retry the connection, and at which interval, both in milliseconds. In a container that has
 * just started, the program may not listen yet, and to start this program again from the host would cost more
 * than a retry.
 */
const [patienceMs, askEveryMs] = [2_000, 20];

/**
 * Connects the streams to the program that listens on the socket, and requests its messages whose numbers are
 * greater than `from`. The other program continues when the connection ends. Resolves with the exit code for
 * this process.
 */
export async function attachToSocket(
  socketFile: string,
  from: number,
  { input, output, reportProblem }: AttachStreams,
): Promise<number> {
  let socket: Socket;
  try {
    socket = await connected(socketFile);
  } catch (error) {
    reportProblem(`no program listens on the socket: ${(error as Error).message}`);
    return 3;
  }
  return new Promise((resolve) => {
    const end = (code: number) => {
      socket.destroy();
      resolve(code);
    };
    socket.once("error", (error) => {
      reportProblem(`the connection to the socket was lost: ${error.message}`);
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

/** Connects to the socket. If no program listens on it yet, retries for a short time. */
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
