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
