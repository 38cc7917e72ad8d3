import type { IncomingMessage } from "node:http";
import Docker from "dockerode";
import { connectionTo } from "./engine-http.ts";
import { refuseImage, refuseName } from "./refuse-name.ts";
import { sendOnlyTo } from "./send-request.ts";

/** Of a call that has no signal: not each of dockerode's takes one. */
const longestMs = 120_000;

/** A dockerode client for an endpoint: it asks about nothing but ids and names, and it asks nothing but this endpoint. */
export function dockerodeAt(endpoint: string): Docker {
  const connection = connectionTo(endpoint);
  const { options, secure } = connection;
  const docker = new Docker({
    // Left out, it would be the one that DOCKER_HOST names.
    host: undefined,
    ...(options as Docker.DockerOptions),
    ...(!options.socketPath && { protocol: secure ? "https" : "http" }),
  });
  refuseAddresses(docker);
  sendOnlyTo(connection, docker);
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

/** dockerode puts what it is given into the address as it is. */
function refuseAddresses(docker: Docker): void {
  const { getContainer, getImage, getNetwork, getVolume, getExec } = docker;
  docker.getContainer = (id) => {
    refuseName(id);
    return getContainer.call(docker, id);
  };
  docker.getImage = (reference) => {
    refuseImage(reference);
    return getImage.call(docker, reference);
  };
  docker.getNetwork = (name) => {
    refuseName(name);
    return getNetwork.call(docker, name);
  };
  docker.getVolume = (name) => {
    refuseName(name);
    return getVolume.call(docker, name);
  };
  docker.getExec = (id) => {
    refuseName(id);
    return getExec.call(docker, id);
  };
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
