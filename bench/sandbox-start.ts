import { createSandboxHandle } from "../src/sandbox/sandbox.ts";
import { type Bench, nothing, timed } from "./bench.ts";
import type { Comparison } from "./compare.ts";
import { flagsFor, specFor } from "./containers.ts";

/** Sandboxes with their time limits and bounded outputs, against the same containers made by Docker's own command. */
export const sandboxes: Bench = {
  title: "Commands in sandboxes",
  async prepare({ engine, docker, undo, absent }) {
    if (engine === null) return nothing;
    if (docker === null) {
      absent("docker run, exec and rm", "there is no docker command");
      return nothing;
    }
    const { containers } = await engine.open();
    const makeContainer = async (): Promise<string> => {
      const { id } = await containers.create(specFor());
      await containers.start(id);
      return id;
    };
    const image = specFor().image;
    const standing = await makeContainer();
    const facts = {
      name: "bench",
      workdir: "/work",
      runtime: "runc",
      isolation: "shared-kernel",
      diskLimit: "watched",
    } as const;
    const sandbox = createSandboxHandle(containers, { ...facts, id: standing }, {});
    const comparisons: Comparison[] = [
      {
        name: "make a sandbox, run a command in it, remove it",
        against: "docker run, exec and rm",
        goal: { sign: "≤", ratio: 1 },
        note: "network none, limits, init; the engine's own work is in both",
        ours: () =>
          timed(async () => {
            const id = await makeContainer();
            const own = createSandboxHandle(
              containers,
              { ...facts, id },
              { commandTimeoutMs: 60_000, outputLimit: 1_000 },
            );
            await own.exec(["true"]);
            await own.destroy();
          }),
        theirs: () =>
          timed(async () => {
            const id = (await docker("run", "--detach", ...flagsFor("none"), image, "sleep", "600")).trim();
            await docker("exec", id, "true");
            await docker("rm", "--force", "--volumes", id);
          }),
      },
      {
        name: "run a command in a sandbox that is there",
        against: "docker exec",
        goal: { sign: "≤", ratio: 1 },
        note: "with its time limit and its bounded output",
        ours: () => timed(() => sandbox.exec(["true"])),
        theirs: () => timed(() => docker("exec", standing, "true")),
      },
    ];
    undo.defer(() => sandbox.destroy());
    return { comparisons };
  },
};
