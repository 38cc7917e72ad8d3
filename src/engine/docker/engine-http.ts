import { readFileSync } from "node:fs";
import { request as httpRequest, type RequestOptions } from "node:http";
import { join } from "node:path";

/**
 * A request to an engine's API, sent without dockerode. Quick commands send such requests, because dockerode
 * takes a tenth of a second to load.
 */
export interface EngineCall {
  readonly path: string;
  readonly method?: "GET" | "POST" | "DELETE";
  readonly timeoutMs?: number;
  readonly signal?: AbortSignal | undefined;
}

export interface EngineAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly body: string;
}

const maxAnswerLength = 64 * 1024 * 1024;

/** Returns whether an engine answers at an endpoint within two seconds. */
export async function answersPing(endpoint: string): Promise<boolean> {
  return callEngine(endpoint, { path: "/_ping", timeoutMs: 2_000 }).then(
    ({ status }) => status === 200,
    () => false,
  );
}

/**
 * Sends a request to the engine at the given endpoint. If no engine answers, rejects with the operating
 * system's error, such as ECONNREFUSED.
 */
export async function callEngine(
  endpoint: string,
  { path, method = "GET", timeoutMs = 5_000, signal }: EngineCall,
): Promise<EngineAnswer> {
  const { promise, resolve, reject } = Promise.withResolvers<EngineAnswer>();
  const timeout = AbortSignal.timeout(timeoutMs);
  const { options, secure } = toConnectionOptions(endpoint);
  // Load `node:https` only if needed: it takes ten milliseconds to load, and few engines need it.
  const request = secure ? (await import("node:https")).request : httpRequest;
  const call = request({
    ...options,
    path,
    method,
    agent: false,
    signal: signal ? AbortSignal.any([signal, timeout]) : timeout,
  });
  call.on("error", (error) =>
    reject(timeout.aborted ? new Error(`the engine did not answer within ${timeoutMs / 1000} s`) : error),
  );
  call.on("response", (response) => {
    const chunks: Buffer[] = [];
    let length = 0;
    response.on("data", (chunk: Buffer) => {
      chunks.push(chunk);
      length += chunk.length;
      if (length > maxAnswerLength) call.destroy(new Error("the engine's answer is too long"));
    });
    response.on("error", reject);
    response.on("end", () =>
      resolve({
        status: response.statusCode ?? 0,
        headers: response.headers,
        body: Buffer.concat(chunks).toString("utf8"),
      }),
    );
  });
  call.end();
  return promise;
}

/**
 * Converts an engine's endpoint, such as `unix:///…`, into connection options that both `node:http` and
 * dockerode accept.
 */
export function toConnectionOptions(endpoint: string): {
  options: RequestOptions & { ca?: Buffer; cert?: Buffer; key?: Buffer };
  secure: boolean;
} {
  const [, socketPath] = /^(?:unix|npipe):\/\/(.*)$/s.exec(endpoint) ?? [];
  if (socketPath !== undefined) return { options: { socketPath }, secure: false };
  const { protocol, hostname, port, searchParams } = new URL(endpoint);
  if (protocol !== "tcp:") throw new Error(`${protocol}// endpoints are not supported`);
  const certificates = searchParams.get("certificates");
  const options = { host: hostname, port: port || (certificates ? "2376" : "2375") };
  if (certificates === null) return { options, secure: false };
  const read = (name: string): Buffer => readFileSync(join(certificates, name));
  return {
    options: { ...options, ca: read("ca.pem"), cert: read("cert.pem"), key: read("key.pem") },
    secure: true,
  };
}
