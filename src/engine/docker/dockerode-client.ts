import type { IncomingMessage } from "node:http";
import Docker from "dockerode";
import { parseJsonOrNull } from "../../text/parse-json-or-null.ts";
import { toConnectionOptions } from "./engine-http.ts";
import { refuseInvalidEngineIdOrName, refuseInvalidImage } from "./require-safe-names.ts";
import { restrictRequestsToEngine } from "./restrict-requests.ts";

/**
 * The time limit in milliseconds of a call to which dockerode passes no abort signal: some methods accept
 * none.
 */
const maxMs = 120_000;

/** Creates a dockerode client that sends requests only to one endpoint, and only with valid IDs and names. */
export function createDockerodeClient(endpoint: string): Docker {
  const connection = toConnectionOptions(endpoint);
  const { options, secure } = connection;
  const docker = new Docker({
    // Without the key `host`, dockerode would use the host in DOCKER_HOST.
    host: undefined,
    ...(options as Docker.DockerOptions),
    ...(!options.socketPath && { protocol: secure ? "https" : "http" }),
  });
  refuseAddresses(docker);
  restrictRequestsToEngine(connection, docker);
  const { modem } = docker;
  const dial = modem.dial.bind(modem);
  // If an answer breaks off, dockerode reports an error only for streams, and otherwise waits forever. So
  // read every answer as a stream.
  modem.dial = (request, callback = () => {}) => {
    if (request.isStream || request.openStdin) return dial(request, callback);
    const abortSignal = request.abortSignal ?? AbortSignal.timeout(maxMs);
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

/**
 * Changes a dockerode client so that it throws for invalid IDs and names. An unchanged client would put them
 * into the URL unescaped.
 */
function refuseAddresses(docker: Docker): void {
  const checked =
    <Found>(get: (name: string) => Found, refuseInvalid = refuseInvalidEngineIdOrName) =>
    (name: string): Found => {
      refuseInvalid(name);
      return get.call(docker, name);
    };
  docker.getContainer = checked(docker.getContainer);
  docker.getImage = checked(docker.getImage, refuseInvalidImage);
  docker.getNetwork = checked(docker.getNetwork);
  docker.getVolume = checked(docker.getVolume);
  docker.getExec = checked(docker.getExec);
}

/**
 * Returns the JSON value in the body of an HTTP response, or the body's bytes if they are not JSON.
 * dockerode parses responses in this way, too.
 */
async function readWhole(answer: IncomingMessage): Promise<object> {
  const bytes = Buffer.concat(await answer.toArray());
  return (parseJsonOrNull(bytes.toString()) ?? bytes) as object;
}
