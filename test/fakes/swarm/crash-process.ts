import { runProgram } from "../../../src/app/run-program.ts";

/**
 * `swarm …`, killed when it passes a point, or after so many milliseconds; or, with `jumping`, under a clock that shows now
 * two days more and now two days less.
 */
const [where = "", ...words] = process.argv.slice(2);
const dayMs = 24 * 3_600_000;

const kill = (): void => void process.kill(process.pid, "SIGKILL");
const afterMs = /^\d+ms$/.test(where) ? Number.parseInt(where, 10) : null;
if (afterMs !== null) setTimeout(kill, afterMs).unref();

let looks = 0;
const jumping = (): Date => {
  looks += 1;
  return new Date(Date.now() + (looks % 3 === 0 ? 2 : looks % 3 === 1 ? -2 : 0) * dayMs);
};

process.exitCode = await runProgram(words, {
  crashPoint: (point) => {
    if (point === where) kill();
  },
  ...(where === "jumping" && { clock: jumping }),
});
