import {
  type ClientRequest,
  request as httpRequest,
  type IncomingMessage,
  type RequestOptions,
} from "node:http";
import { request as httpsRequest } from "node:https";
import type { Duplex, Readable } from "node:stream";
import type Docker from "dockerode";
import type { toConnectionOptions } from "./engine-http.ts";

type Body = string | Buffer | Readable | undefined;
type Callback = (error: Error | null, answer: unknown) => void;

/** The options with which dockerode says how docker-modem handles the response to a request. */
interface Expected {
  readonly hijack?: boolean;
  readonly openStdin?: boolean;
  readonly statusCodes: object;
}

/**
 * The two methods of docker-modem, dockerode's HTTP client, that this file uses. `buildRequest` sends a
 * request; `buildPayload` turns a response into a stream, or into an error with the HTTP status.
 */
interface Modem {
  buildRequest: (options: RequestOptions, expected: Expected, body: Body, callback: Callback) => void;
  buildPayload(
    error: null,
    isStream: true,
    statusCodes: object,
    openStdin: boolean,
    request: ClientRequest,
    answer: IncomingMessage,
    json: null,
    callback: Callback,
  ): void;
}

/**
 * Changes a dockerode client so that it refuses redirects, and all its requests reach only this engine. An
 * unchanged client follows a redirect to any host, and a connection error at that host ends the process.
 */
export function restrictRequestsToEngine(
  { options: connection, secure }: ReturnType<typeof toConnectionOptions>,
  docker: Docker,
): void {
  const modem = docker.modem as unknown as Modem;
  modem.buildRequest = ({ path, method, headers, signal }, expected, body, callback) => {
    let isAnswered = false;
    const answerOnce: Callback = (error, answer) => {
      if (!isAnswered) callback(error, answer);
      isAnswered = true;
    };
    const { hijack = false, openStdin = false, statusCodes } = expected;
    try {
      const options = { ...connection, path, method, headers, ...(signal && { signal }) } as RequestOptions;
      const request = secure ? httpsRequest(options) : httpRequest(options);
      request.on("error", (error) => answerOnce(error, null));
      request.on("response", (answer) =>
        modem.buildPayload(null, true, statusCodes, openStdin, request, answer, null, answerOnce),
      );
      if (hijack)
        request.on("upgrade", (_answer, socket: Duplex, head: Buffer) => {
          if (head.length > 0) socket.unshift(head);
          answerOnce(null, socket);
        });
      send(request, body, { staysOpen: openStdin });
    } catch (error) {
      answerOnce(error as Error, null);
    }
  };
}

function send(request: ClientRequest, body: Body, { staysOpen }: { readonly staysOpen: boolean }): void {
  if (body !== undefined && typeof body !== "string" && !Buffer.isBuffer(body)) {
    body.on("error", (error) => request.destroy(error));
    body.pipe(request);
    return;
  }
  if (body !== undefined) request.write(body);
  if (!staysOpen) request.end();
}
