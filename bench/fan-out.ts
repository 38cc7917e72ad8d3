import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Containers } from "../src/engine/containers.ts";
import { type Bench, type Growth, nothing, refuse, timed } from "./bench.ts";
import type { Comparison } from "./compare.ts";
import { bodyFor, flagsFor, rawEngine, readyByApi, readyByUs, specFor } from "./containers.ts";
import { type Docker, debianProgram, npmPackage } from "./peers.ts";

const wanted = 16;

interface Testcontainers {
  readonly GenericContainer: new (
    image: string,
  ) => {
    withCommand(command: string[]): { start(): Promise<{ stop(): Promise<unknown> }> };
  };
}

/** Many sandboxes at once: their whole life, and when the first of them is ready. */
export const fanOut: Bench = {
  title: `${wanted} sandboxes at once`,
  async prepare({ engine, docker, folder, env, isShort, absent }) {
    if (engine === null || isShort) return nothing;
    const { containers } = await engine.open();
    const { endpoint } = await engine.info();
    const raw = rawEngine(endpoint);
    const image = specFor().image;
    const remove = (ids: readonly string[]): Promise<unknown> =>
      Promise.all(ids.map((id) => containers.remove(id)));
    const ourLife = (count: number) => (): Promise<number> =>
      timed(async () => remove(await manyReady(containers, count)));
    const perSecond = (ms: number): number => 1_000 / ms;
    const comparisons: Comparison[] = [];
    const life = { name: `${wanted} sandboxes, all ready and all gone`, fewestRounds: 3 };

    if (docker === null) absent("parallel docker run", "there is no docker command");
    else
      comparisons.push({
        ...life,
        ...{ against: "docker run, exec and rm in parallel", goal: { sign: "≥", ratio: 0.95 } },
        note: "lives per second, on a bridge, what each engine call costs is in both",
        ours: async () => perSecond(await ourLife(wanted)()),
        theirs: async () => perSecond(await timed(() => commandLife(docker, image))),
      });

    const compose = await debianProgram("docker-compose");
    if (compose === null) absent("docker-compose", "it is not installed, and apt could not install it");
    else {
      const project = join(folder, "compose");
      mkdirSync(project);
      const service = {
        image,
        command: ["sleep", "600"],
        init: true,
        user: "1000:1000",
        mem_limit: "256m",
        cap_drop: ["ALL"],
      };
      writeFileSync(
        join(project, "docker-compose.yml"),
        JSON.stringify({ version: "2.4", services: { w: service } }),
      );
      const { execa } = await import("execa");
      const run = (...words: string[]) =>
        execa(compose, ["--project-name", "aimibench", ...words], {
          cwd: project,
          env: { ...env, DOCKER_HOST: endpoint },
        });
      comparisons.push({
        ...life,
        ...{ against: "docker-compose up --scale and down", goal: { sign: "≥", ratio: 1.8 } },
        note: "lives per second, on a bridge",
        bound: "the engine, which makes, starts and removes one after the other whoever asks",
        ours: async () => perSecond(await ourLife(wanted)()),
        theirs: async () =>
          perSecond(
            await timed(async () => {
              await run("up", "--detach", "--scale", `w=${wanted}`);
              await run("down", "--timeout", "10");
            }),
          ),
      });
    }

    process.env["TESTCONTAINERS_RYUK_DISABLED"] = "true";
    process.env["DOCKER_HOST"] = endpoint;
    const peer = await npmPackage<Testcontainers>("testcontainers", "12.2.0");
    if (peer === null) absent("testcontainers", "npm could not install it");
    else
      comparisons.push({
        ...life,
        ...{ against: "testcontainers without Ryuk", goal: null, fewestRounds: 2 },
        note: "lives per second, on a bridge; it waits for a start and not for a line",
        ours: async () => perSecond(await ourLife(wanted)()),
        theirs: async () =>
          perSecond(
            await timed(async () => {
              const made = await Promise.all(
                Array.from({ length: wanted }, () =>
                  new peer.GenericContainer(image).withCommand(["sleep", "600"]).start(),
                ),
              );
              await Promise.all(made.map((container) => container.stop()));
            }),
          ),
      });

    comparisons.push({
      name: `the first of ${wanted} sandboxes is ready`,
      ...{ against: "all started at once", goal: { sign: "≥", ratio: 2 }, fewestRounds: 3 },
      note: "per second; ours makes or starts two for each CPU at a time, and starts first what is made",
      bound: "the engine, to which four at once are as slow as the first of sixteen often is",
      ours: () => firstReady((told) => manyReady(containers, wanted, told), remove),
      theirs: () =>
        firstReady(
          (told) =>
            Promise.all(
              Array.from({ length: wanted }, async () => {
                const id = await readyByApi(raw, bodyFor("bridge"));
                told();
                return id;
              }),
            ),
          remove,
        ),
    });

    const growth = async (): Promise<Growth[]> => {
      const points: [number, number][] = [];
      for (const count of [1, 4, wanted]) points.push([count, (await ourLife(count)()) / count]);
      return [
        { name: "whole life of a sandbox among N", unit: "ms each", series: [{ name: "swarm", points }] },
      ];
    };
    return { comparisons, growth };
  },
};

function manyReady(containers: Containers, count: number, told: () => void = () => {}): Promise<string[]> {
  return Promise.all(
    Array.from({ length: count }, async () => {
      const id = await readyByUs(containers, specFor({ network: { kind: "bridge" } }));
      told();
      return id;
    }),
  );
}

async function commandLife(docker: Docker, image: string): Promise<void> {
  await Promise.all(
    Array.from({ length: wanted }, async () => {
      const id = (await docker("run", "--detach", ...flagsFor("bridge"), image, "sleep", "600")).trim();
      refuse((await docker("exec", id, "echo", "ready")) !== "ready\n", "a container did not answer");
      await docker("rm", "--force", "--volumes", id);
    }),
  );
}

/** How often in a second the first one would be there. */
async function firstReady(
  make: (told: () => void) => Promise<string[]>,
  remove: (ids: readonly string[]) => Promise<unknown>,
): Promise<number> {
  const started = performance.now();
  let first = Number.POSITIVE_INFINITY;
  const ids = await make(() => {
    first = Math.min(first, performance.now() - started);
  });
  await remove(ids);
  return 1_000 / first;
}
