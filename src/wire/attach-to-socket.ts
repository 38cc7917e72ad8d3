import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { isSystemError } from "../errors/system-errors.ts";
import { pollUntilAnswer } from "../machine/poll-until.ts";

/**
 * For how long to retry the connection, and at which interval, both in milliseconds. In a container that has
 * just started, the program may not listen yet, and to start this program again from the host would cost more
 * than a retry.
 */
const retry = { waitMs: 2_000, everyMs: 20 };

/**
 * Connects the streams to the program that listens on the socket, and requests its messages whose numbers are
 * greater than `from`. The other program continues when the connection ends. Resolves with the exit code for
 * this process.
 */
export async function attachToSocket(
  socketFile: string,
  from: number,
  {
    input,
    output,
    reportProblem,
  }: {
    readonly input: NodeJS.ReadableStream;
    readonly output: NodeJS.WritableStream;
    readonly reportProblem: (line: string) => void;
  },
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
    input.once("end", () => end(0)).once("error", () => end(0));
    output.once("error", () => end(0));
    socket.write(`${JSON.stringify({ from })}\n`);
    input.pipe(socket);
    socket.pipe(output, { end: false });
  });
}

/** Connects to the socket. If no program listens on it yet, retries for a short time. */
async function connected(socketFile: string): Promise<Socket> {
  let early: unknown;
  const tryToConnect = async (): Promise<Socket | undefined> => {
    const socket = connect(socketFile);
    try {
      await once(socket, "connect");
      return socket;
    } catch (error) {
      if (!isSystemError(error, "ENOENT", "ECONNREFUSED")) throw error;
      early = error;
      return undefined;
    }
  };
  const socket = await pollUntilAnswer(tryToConnect, retry);
  if (!socket) throw early;
  return socket;
}
