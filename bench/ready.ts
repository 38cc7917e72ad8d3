import type { Bench } from "./bench.ts";
import { nothing, timed } from "./bench.ts";
import type { Comparison } from "./compare.ts";
import { bodyFor, flagsFor, rawEngine, readyByApi, readyByUs, specFor } from "./containers.ts";

const networks = ["none", "bridge"] as const;
const engineBound = "the engine's own work, which is nearly all of it: ours is as fast as its API alone";
type Network = (typeof networks)[number];

/** From nothing to the first line of a command in a sandbox: against the engine's API alone, and against its own command. */
export const ready: Bench = {
  title: "A sandbox from nothing to its first line",
  async prepare({ engine, docker, isShort, absent }) {
    if (engine === null) return nothing;
    const { containers } = await engine.open();
    const { endpoint, runtimes } = await engine.info();
    const raw = rawEngine(endpoint);
    const gone = async (id: string): Promise<void> => containers.remove(id);
    const ours = (network: Network, runtime: string) => (): Promise<number> =>
      ended(readyByUs(containers, specFor({ network: { kind: network }, runtime })), gone);
    const byApi = (network: Network, runtime: string) => (): Promise<number> =>
      ended(readyByApi(raw, bodyFor(network, runtime)), gone);
    const byCommand = (network: Network, runtime: string) => (): Promise<number> =>
      ended(
        (async () => {
          const id =
            (
              await docker?.("run", "--detach", ...flagsFor(network, runtime), image, "sleep", "600")
            )?.trim() ?? "";
          const said = await docker?.("exec", id, "echo", "ready");
          if (said !== "ready\n") throw new Error(`it said ${said}`);
          return id;
        })(),
        gone,
      );
    const image = specFor().image;
    const known = ["runc", "runsc"].filter((runtime) => runtimes.includes(runtime));
    for (const missing of ["runc", "runsc"].filter((runtime) => !known.includes(runtime)))
      absent(missing, "the engine does not have this runtime");
    if (docker === null) absent("docker run + exec", "there is no docker command");

    const comparisons = known.flatMap((runtime) =>
      networks.flatMap((network): Comparison[] => [
        {
          name: `ready, ${runtime}, network ${network}`,
          ...{ against: "the engine's API alone", goal: { sign: "≤", ratio: 1.15 } },
          note: "create, start, exec, first line; ours reads back what the engine made before it starts it",
          bound: "reading back what was made, one more call",
          ...{ ours: ours(network, runtime), theirs: byApi(network, runtime) },
        },
        ...(docker === null
          ? []
          : [
              {
                name: `ready, ${runtime}, network ${network}`,
                ...{ against: "docker run and exec", goal: { sign: "≤", ratio: 0.9 } as const },
                note: "the same container on the same network",
                bound: engineBound,
                ...{ ours: ours(network, runtime), theirs: byCommand(network, runtime) },
              },
            ]),
      ]),
    );
    if (docker !== null)
      comparisons.push({
        name: "ready, runc, network none",
        ...{ against: "docker run and exec on a bridge", goal: { sign: "≤", ratio: 0.7 } },
        note: "another network: what people get who ask for nothing",
        bound: engineBound,
        ...{ ours: ours("none", "runc"), theirs: byCommand("bridge", "runc") },
      });
    return { comparisons: isShort ? comparisons.slice(0, 1) : comparisons };
  },
};

/** The time until it was ready; that it goes is not counted. */
async function ended(made: Promise<string>, gone: (id: string) => Promise<void>): Promise<number> {
  let id = "";
  const ms = await timed(async () => {
    id = await made;
  });
  await gone(id);
  return ms;
}
