import { describe, expect, inject, test } from "vitest";
import { count } from "../../counts.ts";
import { chanceFrom } from "../../fakes/chance.ts";
import { openEngine } from "../../fakes/engine/engine-at.ts";
import { isSaying, SteadyHost } from "../../fakes/protocol/steady-host.ts";
import { scripted, startWorker } from "../../fakes/swarm/worker.ts";

const engine = openEngine(inject("endpoint"));
const { runtimes: found } = await engine.info();
/** Longer than a preparation takes, so that every part of it is met. */
const maxMs = { runc: 500, runsc: 1_500 };

/** Says each time it is begun whether all is there that earlier stories made, and goes on when it is told to. */
const looking = `if [ $AIMI_STORY_ID = US-001 ]; then mkdir -p a/b; echo precious > a/b/precious.txt; rm README.md; exit; fi
echo "$(cat a/b/precious.txt) $(ls README.md 2>/dev/null) $(git status --porcelain | grep -vc more.txt)"
until [ -e ~/go ]; do sleep 0.05; done; echo more > more.txt`;

describe("kill -9 at a random moment while a new container prepares its workspace", () => {
  for (const runtime of (["runc", "runsc"] as const).slice(0, count.runtimes))
    test.skipIf(!found.includes(runtime))(
      `loses nothing of a finished story under ${runtime}`,
      { timeout: 3_600_000 },
      async () => {
        const kills = runtime === "runc" ? count.preparationKills : count.preparationKillsGvisor;
        const chance = chanceFrom(kills);
        await using worker = await startWorker(engine, { runtime });
        const request = scripted(
          worker,
          { "US-001": [], "US-002": [] },
          {
            agent: { kind: "command", command: ["sh", "-c", looking] },
          },
        );
        const host = new SteadyHost(worker, request);
        {
          await using line = await host.join();
          await line.until(isSaying("precious  0"));
          host.keep(line);
        }

        for (let kill = 0; kill < kills; kill += 1) {
          await worker.replace();
          {
            await using line = await host.join();
            await new Promise((resolve) => setTimeout(resolve, chance.below(maxMs[runtime])));
            await worker.containers.stop(worker.id, { graceMs: 0 });
            host.keep(line);
          }
          const known = host.kept.length;
          await using again = await host.join();
          const said = await again.until(
            (message) => message.type === "activity" && "seq" in message && message.seq > known,
          );
          expect(said.payload).toMatchObject({ storyId: "US-002", summary: "precious  0" });
          host.keep(again);
        }

        await worker.run(["touch", "/home/agent/go"], "1000:1000");
        await using last = await host.join();
        const { payload } = await host.finish(last);
        expect(payload).toMatchObject({ status: "completed", errors: [] });
        expect(host.fileOf("a/b/precious.txt")).toBe("precious\n");
        expect(host.fileOf("more.txt")).toBe("more\n");
      },
    );
});
