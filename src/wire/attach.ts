import { connect } from "node:net";

export interface AttachStreams {
  readonly input: NodeJS.ReadableStream;
  readonly output: NodeJS.WritableStream;
  readonly complain: (line: string) => void;
}

/** Joins the streams to the program that listens there, from the message behind `from` on. It goes on whatever happens here. */
export function attach(
  socketFile: string,
  from: number,
  { input, output, complain }: AttachStreams,
): Promise<number> {
  return new Promise((resolve) => {
    const socket = connect(socketFile);
    let isConnected = false;
    const end = (code: number) => {
      socket.destroy();
      resolve(code);
    };
    socket.once("connect", () => {
      isConnected = true;
      socket.write(`${JSON.stringify({ from })}\n`);
      input.pipe(socket);
      socket.pipe(output, { end: false });
    });
    socket.once("error", (error) => {
      complain(
        isConnected ? `the line broke: ${error.message}` : `there is nobody to attach to: ${error.message}`,
      );
      end(3);
    });
    socket.once("close", () => end(0));
    input.once("end", () => end(0));
    input.once("error", () => end(0));
    output.once("error", () => end(0));
  });
}
