import { type Bench, nothing, timed } from "./bench.ts";
import type { Comparison } from "./compare.ts";
import { rawEngine, specFor } from "./containers.ts";

/** Ending and removing a sandbox. */
export const ending: Bench = {
  title: "Ending and removing a sandbox",
  async prepare({ engine, docker, isShort, absent }) {
    if (engine === null) return nothing;
    const { containers } = await engine.open();
    const { endpoint } = await engine.info();
    const raw = rawEngine(endpoint);
    const image = specFor().image;
    const waiting = async (): Promise<string> => {
      const { id } = await containers.create(specFor());
      await containers.start(id);
      return id;
    };
    const ours = async (): Promise<number> => {
      const id = await waiting();
      return timed(() => containers.remove(id));
    };
    const comparisons: Comparison[] = [
      {
        name: "remove a running sandbox",
        ...{ against: "the engine's API alone", goal: { sign: "≤", ratio: 1.15 } },
        note: "by force, with its volumes",
        ours,
        async theirs() {
          const id = await waiting();
          return timed(() => raw.call("DELETE", `/containers/${id}?force=1&v=1`));
        },
      },
    ];
    if (docker === null) absent("docker stop", "there is no docker command");
    else if (!isShort)
      comparisons.push({
        name: "end and remove a running sandbox, per second",
        ...{
          against: "docker stop and rm of a shell that sleeps",
          goal: { sign: "≥", ratio: 50 },
          fewestRounds: 2,
        },
        note: "the shell is the first process, as `docker run image sh -c …` makes it, and does not hear SIGTERM",
        ours: async () => 1_000 / (await ours()),
        async theirs() {
          const words = ["--detach", "--network", "none", "--label", "org.aimi.test=bench"];
          const id = (await docker("run", ...words, image, "sh", "-c", "sleep 600; :")).trim();
          const ms = await timed(async () => {
            await docker("stop", id);
            await docker("rm", "--volumes", id);
          });
          return 1_000 / ms;
        },
      });
    return { comparisons };
  },
};
