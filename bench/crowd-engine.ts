import { createHash, randomBytes } from "node:crypto";
import type { IncomingMessage, ServerResponse } from "node:http";
import type { Duplex } from "node:stream";
import type Docker from "dockerode";
import { type EngineProxy, engineProxy } from "../test/fakes/engine/engine-proxy.ts";
import type { Bundled } from "./crowd-work.ts";
import { type CrowdPace, type CrowdWorker, crowdWorker, framed } from "./crowd-worker.ts";

interface CrowdContainer {
  readonly id: string;
  readonly name: string;
  readonly made: Docker.ContainerCreateOptions;
  readonly worker: CrowdWorker;
  state: "created" | "running" | "exited";
}

interface CrowdOptions {
  /** The real engine, which has the images and everything else that is no worker's. */
  readonly endpoint: string;
  readonly socket: string;
  /** Of each branch. */
  readonly work: ReadonlyMap<string, readonly Bundled[]>;
  readonly pace: CrowdPace;
}

const isWorker = (name: string): boolean => /^aimi-[0-9a-f]{6}-[0-9a-f]{6}-/.test(name);

/** An engine at a real socket whose workers are no containers: many of them cost nothing but what their owner does for them. */
export async function crowdEngine({ endpoint, socket, work, pace }: CrowdOptions): Promise<EngineProxy> {
  const containers = new Map<string, CrowdContainer>();
  const volumes = new Set<string>();
  const commandById = new Map<string, readonly [CrowdContainer, readonly string[]]>();
  const find = (key: string): CrowdContainer | undefined =>
    containers.get(key) ?? [...containers.values()].find(({ id }) => id === key);

  return engineProxy({ endpoint, socket, answer, join });

  function answer(request: IncomingMessage): ((response: ServerResponse) => Promise<void>) | null {
    const { pathname, searchParams } = new URL(request.url ?? "", "http://engine");
    const [, kind = "", key = "", verb = ""] = pathname.split("/");
    const name = searchParams.get("name") ?? searchParams.get("Name") ?? key;
    const what =
      `${request.method} ${kind} ${kind === "containers" && key === "create" ? "create" : verb}`.trim();
    const container = find(key);
    const isOurs = container !== undefined || commandById.has(key) || isWorker(name);
    if (what === "GET volumes")
      return reply(() => [200, { Volumes: [...volumes].map((each) => ({ Name: each, Labels: {} })) }]);
    if (!isOurs && kind !== "volumes") return null;
    return reply((body) => carryOut(what, { key, name, container, body }));
  }

  function reply(
    make: (body: Record<string, unknown>) => readonly [number, unknown?],
  ): (response: ServerResponse) => Promise<void> {
    return async (response) => {
      const text = (await response.req.toArray()).join("");
      const [status, body] = make(text === "" ? {} : JSON.parse(text));
      response.writeHead(status, { "content-type": "application/json" });
      response.end(body === undefined ? undefined : JSON.stringify(body));
    };
  }

  function carryOut(
    what: string,
    {
      key,
      name,
      container,
      body,
    }: {
      readonly key: string;
      readonly name: string;
      readonly container: CrowdContainer | undefined;
      readonly body: Record<string, unknown>;
    },
  ): readonly [number, unknown?] {
    if (what === "POST volumes") {
      volumes.add(String(body["Name"]));
      return [201, { Name: body["Name"] }];
    }
    if (what === "DELETE volumes") return volumes.delete(key) ? [204] : [404, { message: "no such volume" }];
    if (what === "POST containers create") return [201, { Id: make(name, body).id, Warnings: [] }];
    if (what === "GET exec json") return [200, { ID: key, Running: false, ExitCode: 0 }];
    if (container === undefined) return [404, { message: `No such container: ${key}` }];
    switch (what) {
      case "GET containers json":
        return [200, inspected(container)];
      case "POST containers start":
        container.state = "running";
        return [204];
      case "POST containers exec": {
        const id = randomBytes(32).toString("hex");
        commandById.set(id, [container, body["Cmd"] as string[]]);
        return [201, { Id: id }];
      }
      case "DELETE containers":
        containers.delete(container.name);
        return [204];
      default:
        return [501, { message: `the crowd knows no ${what}` }];
    }
  }

  function make(name: string, made: Docker.ContainerCreateOptions): CrowdContainer {
    const variables = new Map((made.Env ?? []).map((line) => line.split("=", 2) as [string, string]));
    const id = createHash("sha256").update(name).digest("hex");
    const container: CrowdContainer = {
      ...{ id, name, made, state: "created" },
      worker: crowdWorker({
        ...{ swarmId: variables.get("AIMI_SWARM_ID") ?? "", containerId: id, pace },
        work: work.get(variables.get("AIMI_BRANCH") ?? "") ?? [],
        onEnd: () => {
          container.state = "exited";
        },
      }),
    };
    containers.set(name, container);
    return container;
  }

  /** The streams of a program in a container: the adapter's line, or a stored file. */
  function join(request: IncomingMessage, client: Duplex): boolean {
    const [, , id = ""] = (request.url ?? "").split("/");
    const [container, command = []] = commandById.get(id) ?? [];
    if (container === undefined) return false;
    client.write("HTTP/1.1 101 UPGRADED\r\nConnection: Upgrade\r\nUpgrade: tcp\r\n\r\n");
    const [program, ...args] = command;
    if (program !== "cat") container.worker.join(Number(args.at(-1)), client);
    else {
      const branch = container.made.Env?.find((line) => line.startsWith("AIMI_BRANCH="))?.slice(
        "AIMI_BRANCH=".length,
      );
      const stored = work.get(branch ?? "")?.find(({ path }) => path === args.at(-1));
      client.end(framed(stored?.bytes ?? new Uint8Array()));
    }
    return true;
  }
}

/** What the engine says of one: all that it was asked for, and nothing else. */
function inspected({ id, name, made, state }: CrowdContainer): object {
  const mounts = (made.HostConfig?.Mounts ?? []).map(({ Source, Target }) => ({
    ...{ Type: "volume", Name: Source, Source: `/volumes/${Source}`, Destination: Target, RW: true },
  }));
  const never = "0001-01-01T00:00:00Z";
  const times = {
    StartedAt: new Date().toISOString(),
    FinishedAt: state === "exited" ? new Date().toISOString() : never,
  };
  return {
    ...{ Id: id, Name: `/${name}`, Image: "sha256:crowd", Mounts: mounts, HostConfig: made.HostConfig },
    Config: { User: made.User, Labels: made.Labels },
    NetworkSettings: { Networks: { none: {} } },
    State: {
      Status: state,
      Running: state === "running",
      Paused: false,
      OOMKilled: false,
      ExitCode: 0,
      ...times,
    },
  };
}
