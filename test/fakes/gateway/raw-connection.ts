import { connect, type Socket } from "node:net";

/** Where somebody listens: a socket's path, or a port of this machine. */
export type Listening = string | number;

/** Opens a connection that stays open on this side until it is destroyed. */
export function openConnection(place: Listening): Socket {
  const socket =
    typeof place === "number"
      ? connect({ host: "127.0.0.1", port: place, allowHalfOpen: true })
      : connect({ path: place, allowHalfOpen: true });
  return socket.on("error", () => {});
}

/** Says bytes as they are, and hears all that is answered until the other end hangs up. */
export function speakRaw(place: Listening, ...pieces: readonly (string | Uint8Array)[]): Promise<string> {
  return new Promise((resolve) => {
    const socket = openConnection(place);
    const heard: Buffer[] = [];
    socket.on("data", (piece: Buffer) => heard.push(piece));
    socket.once("end", () => socket.end());
    socket.once("close", () => resolve(Buffer.concat(heard).toString("latin1")));
    const say = (index: number): void => {
      const piece = pieces[index];
      if (piece !== undefined)
        socket.write(typeof piece === "string" ? Buffer.from(piece, "latin1") : piece, () => say(index + 1));
    };
    say(0);
  });
}
