import type { IncomingMessage } from "node:http";
import Docker from "dockerode";
import { connectionTo } from "./engine-http.ts";

/** Of a call that has no signal: not each of dockerode's takes one. */
const longestMs = 120_000;

/** A dockerode client for an endpoint. */
export function dockerodeAt(endpoint: string): Docker {
  const { options, secure } = connectionTo(endpoint);
  const docker = new Docker({
    ...(options as Docker.DockerOptions),
    ...(!options.socketPath && { protocol: secure ? "https" : "http" }),
  });
  const { modem } = docker;
  const dial = modem.dial.bind(modem);
  // Where an answer breaks off in its middle, dockerode calls back only for streams and waits for ever for the rest.
  modem.dial = (request, callback = () => {}) => {
    if (request.isStream || request.openStdin) return dial(request, callback);
    const abortSignal = request.abortSignal ?? AbortSignal.timeout(longestMs);
    dial({ ...request, abortSignal, isStream: true }, (error, answer) => {
      if (error) return callback(error, null);
      readWhole(answer as IncomingMessage).then(
        (read) => callback(null, read),
        (broken) => callback(broken, null),
      );
    });
  };
  return docker;
}

/** A signal in dockerode's words, left out where there is none. */
export function until(signal: AbortSignal | undefined): { readonly abortSignal?: AbortSignal } {
  return signal ? { abortSignal: signal } : {};
}

/** JSON as what it says, anything else as its bytes: as dockerode does it. */
async function readWhole(answer: IncomingMessage): Promise<object> {
  const bytes = Buffer.concat(await answer.toArray());
  try {
    return JSON.parse(bytes.toString()) ?? bytes;
  } catch {
    return bytes;
  }
}
