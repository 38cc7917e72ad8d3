import { randomBytes } from "node:crypto";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, inject } from "vitest";
import { baseImage } from "../../../src/engine/rules/base-image.ts";
import { count } from "../../counts.ts";
import { swarm } from "../../fakes/cli/swarm-command.ts";
import { specOf } from "../../fakes/engine/containers-suite.ts";
import { dockerAt, openEngine } from "../../fakes/engine/engine-at.ts";
import { findSecrets } from "../../fakes/engine/find-secrets.ts";
import { writeTask } from "../../fakes/folders.ts";
import { startUpstream } from "../../fakes/gateway/gateway.ts";
import { git } from "../../fakes/git/repository.ts";
import { projectOf, type SwarmPlace, swarmEnv, test } from "../../fakes/swarm/swarms.ts";
import { taskFileWith } from "../../fakes/tasks/task-files.ts";
import { testLabel } from "../../fakes/test-label.ts";

const endpoint = inject("endpoint");
const engine = openEngine(endpoint);
const docker = dockerAt(endpoint);
const { containers, volumes } = await engine.open();
const { runtimes, dataFolder } = await engine.info();

/** What an agent may do to get at what its gateway knows, and to keep it: its model tells it what it was asked with. */
const agent = [
  "set -x; env; cat /proc/*/environ",
  'ask() { curl -s -i -m 60 -H "authorization: Bearer $AIMI_MODEL_LAB_KEY" "$@"; }',
  "ask $AIMI_MODEL_LAB_URL/echo | tee echo.txt",
  "curl -s -i -m 60 $GOPROXY/echo | tee mirror.txt",
  "ask $AIMI_MODEL_LAB_URL/hold",
].join("\n");

/** Somewhere of everything is a key that nobody kept away from it. */
async function careless(key: string, runtime: string) {
  await using undo = new AsyncDisposableStack();
  const spec = specOf(baseImage, runtime, {
    ...{ env: { KEY: key }, labels: { [testLabel]: "canary" } },
    command: [
      "sh",
      "-c",
      "echo $KEY | tee /home/agent/key /kept/key; touch /home/agent/done; exec sleep 600",
    ],
    volumes: [{ name: "aimi-test-canary", path: "/kept" }],
    user: "0:0",
  });
  undo.defer(() => volumes.remove("aimi-test-canary"));
  await volumes.create("aimi-test-canary", { [testLabel]: "canary" });
  undo.defer(() => containers.remove(spec.name));
  const { id } = await containers.create(spec);
  await containers.start(id);
  for await (const _ of containers.logs(id, { follow: true })) break;
  const held = undo.move();
  return { id, volume: "aimi-test-canary", [Symbol.asyncDispose]: () => held.disposeAsync() };
}

/** Where the engine keeps what a container has written. */
async function writtenBy(id: string): Promise<string> {
  const { GraphDriver } = await docker.getContainer(id).inspect();
  return (GraphDriver.Data as Readonly<Record<string, string | undefined>>)["UpperDir"] ?? "";
}

/** As an image, to be looked through and removed. */
async function committed(id: string): Promise<AsyncDisposable & { readonly tag: string }> {
  const tag = `aimi-test-canary-${id.slice(0, 12)}`;
  await docker.getContainer(id).commit({ repo: tag, pause: false });
  return {
    tag,
    [Symbol.asyncDispose]: async () => void (await docker.getImage(tag).remove({ force: true })),
  };
}

/** gVisor reads slowly; what is in its images is looked through besides. */
const foldersOf: Readonly<Record<string, readonly string[]>> = {
  runc: ["$(ls -d /* | grep -vE '^/(proc|sys|dev)$')"],
  runsc: ["/aimi", "/door", "/gw", "/home", "/kept", "/run", "/tmp", "/work", "/workspace"],
};

const labelOf = (place: SwarmPlace): string => `org.aimi.project=${projectOf(place)}`;

describe("the key of a model", () => {
  test.for(["runc", "runsc"].filter((runtime) => runtimes.includes(runtime)).slice(0, count.runtimes))(
    "is nowhere but in the gateway's memory, with workers of %s",
    async (runtime, { place }) => {
      const [canary, known] = [randomBytes(24).toString("hex"), randomBytes(24).toString("hex")];
      const [held, letGo] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
      await using upstream = await startUpstream(async (request, response) => {
        if (request.url?.endsWith("/hold")) {
          held.resolve();
          await letGo.promise;
        }
        const { authorization = "" } = request.headers;
        response.setHeader("x-asked-with", authorization).setHeader("set-cookie", `key=${authorization}`);
        response.end(JSON.stringify(request.headers));
      }, "0.0.0.0");
      const { IPAM } = await docker.getNetwork("bridge").inspect();
      const address = `http://${IPAM?.Config?.[0]?.Gateway}:${new URL(upstream.url).port}`;
      writeTask(
        place.repository,
        "2026-01-02-one-tasks.json",
        taskFileWith({
          metadata: { branchName: "feat/one", agent: { kind: "command", command: ["sh", "-c", agent] } },
        }),
      );
      const command = (...words: string[]) =>
        swarm({ folder: place.repository, env: { ...swarmEnv(place), CANARY: canary } }, ...words);

      const header = "header=Authorization:Bearer env:CANARY";
      const running = command(
        ...["start", "--all", "--isolation", runtime === "runc" ? "auto" : "strong", "--allow", "go"],
        ...["--model-endpoint", `lab=${address},${header}`, "--registry", `go=${address},${header}`],
      );
      await using _end = {
        [Symbol.asyncDispose]: async () => {
          letGo.resolve();
          await running;
        },
      };
      await Promise.race([held.promise, running.then(({ stderr }) => Promise.reject(new Error(stderr)))]);
      await using control = await careless(known, runtime);
      const ours = await docker.listContainers({ filters: { label: [labelOf(place)] } });
      const worker = ours.find(({ Labels }) => Labels["org.aimi.role"] === "worker")?.Id ?? "";
      const gateway = ours.find(({ Labels }) => Labels["org.aimi.role"] === "gateway")?.Id ?? "";
      const said: Record<string, string> = {};
      const saying = async (...words: string[]): Promise<void> => {
        const { stdout, stderr } = await command(...words);
        said[words.join(" ")] = stdout + stderr;
      };
      const commands = [
        ["status", "--json"],
        ["logs", "one"],
        ["logs", "one", "--json"],
        ["events", "--json"],
      ];
      for (const words of commands) await saying(...words);
      const inQuestion = [worker, gateway, control.id];
      await using commits = new AsyncDisposableStack();
      // Of gVisor's the images are the same, and no engine promises to commit all that was written.
      const layers =
        runtime !== "runc"
          ? []
          : await Promise.all(inQuestion.map(async (id) => commits.use(await committed(id)).tag));
      const { Volumes } = await docker.listVolumes({ filters: { label: [labelOf(place)] } });
      const searched = {
        ...{ containers, docker, endpoint, said },
        volumes: [control.volume, ...(Volumes ?? []).map(({ Name }) => Name)],
        folders: [
          place.folder,
          join(dataFolder, "containers"),
          join(dataFolder, "network"),
          join(dataFolder, "image"),
          ...(await Promise.all(inQuestion.map(writtenBy))),
        ],
      };

      const found = await findSecrets([canary, known], {
        ...searched,
        images: layers.length > 0 ? [baseImage, ...ours.map(({ Image }) => Image), ...layers] : [],
        running: inQuestion.map((id) => ({ id, folders: foldersOf[runtime] ?? [] })),
      });
      letGo.resolve();
      const finished = await running;
      for (const words of [...commands, ["summary", "--json"]]) await saying(...words);
      const later = await findSecrets([canary], {
        ...{ ...searched, images: [], running: [], volumes: [] },
        folders: searched.folders.filter((folder) => existsSync(folder)),
        said: { ...said, start: finished.stdout + finished.stderr },
      });

      expect(finished.exit, finished.stderr).toBe(0);
      expect(Object.keys(said)).toHaveLength(5);
      expect(found[known]?.length).toBeGreaterThanOrEqual(6);
      expect(found[known]?.includes("layers")).toBe(layers.length > 0);
      expect(found[canary]).toEqual([]);
      expect(later[canary]).toEqual([]);
      // It had it, and what was told of it came back without.
      expect(upstream.requests.map(({ url, headers }) => [url, headers.authorization])).toEqual(
        ["/echo", "/echo", "/hold"].map((url) => [url, `Bearer ${canary}`]),
      );
      for (const file of ["echo.txt", "mirror.txt"]) {
        const echo = git(place.repository, "show", `feat/one:${file}`);
        expect(echo).toMatch(/^HTTP\/1\.1 200/);
        expect(echo).not.toContain(canary);
      }
    },
  );
});
