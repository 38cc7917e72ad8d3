import { randomBytes } from "node:crypto";
import { Agent, type IncomingMessage, request } from "node:http";
import type { ContainerSpec, Containers } from "../src/engine/containers.ts";
import { baseImage } from "../src/engine/rules/base-image.ts";
import { defaultLimits } from "../src/sandbox/sandbox-defaults.ts";

export const benchLabel = "org.aimi.test";
const memoryBytes = 256 * 1024 ** 2;

/** A name that nobody else has. */
function freshName(): string {
  return `aimi-bench-${randomBytes(6).toString("hex")}`;
}

/** A sandbox as ours are, that waits. */
export function specFor(change: Partial<ContainerSpec> = {}): ContainerSpec {
  return {
    name: freshName(),
    labels: { [benchLabel]: "bench" },
    ...{ image: baseImage, command: ["sleep", "600"], env: {}, user: "1000:1000", workdir: "/work" },
    ...{ runtime: "runc", network: { kind: "none" } },
    limits: { ...defaultLimits, cpus: 1, memoryBytes },
    ...{ capabilities: [], readOnlyRoot: false, privileged: false, tmpBytes: 64 * 1024 ** 2, volumes: [] },
    ...change,
  };
}

/** The same for `docker run`. */
export function flagsFor(network: "none" | "bridge", runtime = "runc"): string[] {
  return [
    ...["--init", "--network", network, "--runtime", runtime, "--user", "1000:1000", "--workdir", "/work"],
    ...[
      "--cap-drop",
      "ALL",
      "--security-opt",
      "no-new-privileges",
      "--pids-limit",
      "512",
      "--memory",
      "256m",
    ],
    ...["--cpus", "1", "--tmpfs", "/tmp:exec,nosuid,nodev,size=64m", "--label", `${benchLabel}=bench`],
  ];
}

/** The same as the engine's API is told. */
export function bodyFor(network: "none" | "bridge", runtime = "runc"): object {
  return {
    ...{ Image: baseImage, Cmd: ["sleep", "600"], User: "1000:1000", WorkingDir: "/work" },
    Labels: { [benchLabel]: "bench" },
    HostConfig: {
      ...{ Init: true, NetworkMode: network, Runtime: runtime, CapDrop: ["ALL"], PidsLimit: 512 },
      ...{ SecurityOpt: ["no-new-privileges"], Memory: memoryBytes, MemorySwap: memoryBytes, NanoCpus: 1e9 },
      Tmpfs: { "/tmp": "exec,nosuid,nodev,size=64m" },
    },
  };
}

/** Makes one, starts it, and waits for the first line of a command in it: our way. */
export async function readyByUs(containers: Containers, spec: ContainerSpec): Promise<string> {
  const { id } = await containers.create(spec);
  await containers.start(id);
  await firstLine(containers, id);
  return id;
}

async function firstLine(containers: Containers, id: string): Promise<void> {
  await using execution = await containers.exec(id, { command: ["echo", "ready"], input: false });
  for await (const { bytes } of execution.output) if (Buffer.from(bytes).toString() === "ready\n") return;
  throw new Error("it said something else");
}

/** The engine's API by nothing but Node's own client. */
export interface RawEngine {
  call(method: string, path: string, body?: object): Promise<string>;
}

export function rawEngine(endpoint: string): RawEngine {
  const socketPath = endpoint.replace("unix://", "");
  const agent = new Agent({ keepAlive: true });
  return {
    async call(method, path, body) {
      const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>();
      const headers = { "content-type": "application/json" };
      const asked = request({ socketPath, agent, method, path, headers }, resolve).on("error", reject);
      asked.end(body ? JSON.stringify(body) : undefined);
      const response = await promise;
      const text = Buffer.concat(await response.toArray()).toString("latin1");
      if ((response.statusCode ?? 500) >= 400) throw new Error(`${method} ${path}: ${text}`);
      return text;
    },
  };
}

/** The same sequence by the API alone, without a look at what was made. */
export async function readyByApi(engine: RawEngine, body: object): Promise<string> {
  const { Id } = JSON.parse(await engine.call("POST", "/containers/create", body));
  await engine.call("POST", `/containers/${Id}/start`);
  const exec = { AttachStdout: true, AttachStderr: true, Cmd: ["echo", "ready"] };
  const { Id: execId } = JSON.parse(await engine.call("POST", `/containers/${Id}/exec`, exec));
  const said = await engine.call("POST", `/exec/${execId}/start`, { Detach: false, Tty: false });
  if (!said.includes("ready\n")) throw new Error(`it said ${said}`);
  return Id;
}
