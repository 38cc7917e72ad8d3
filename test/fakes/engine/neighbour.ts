import { randomBytes } from "node:crypto";
import type { Containers } from "../../../src/engine/containers.ts";
import { baseImage } from "../../../src/engine/rules/base-image.ts";
import { defaultLimits } from "../../../src/sandbox/sandbox-defaults.ts";
import { testLabel } from "../test-label.ts";

/** A piece of time by the clock of the host, in milliseconds. */
export interface Span {
  readonly from: number;
  readonly to: number;
}

/** A time that lasted until the next one came, by a clock that nothing sets. */
export interface Gap {
  /** When it began and ended, by the clock of the host. */
  readonly span: Span;
  readonly ms: number;
}

export interface Neighbour extends AsyncDisposable {
  readonly id: string;
  /** Every gap between two of its times so far. */
  gaps(): Promise<readonly Gap[]>;
}

const tickMs = 100;

/** Two clocks: the one of the host says when it was, and the other how long it took. Its log can be read however it fares. */
const ticking = String.raw`
import sys, time
with open("/var/tmp/times", "w") as disk:
    while True:
        line = "%d %.1f\n" % (time.time() * 1000, time.monotonic() * 1000)
        for place in (disk, sys.stdout):
            place.write(line)
            place.flush()
        time.sleep(${tickMs / 1000})
`;

/**
 * A container with a worker's limits that writes a time each 100 ms to its disk, and does nothing else. What it does not get to
 * write in time, something beside it has taken from it.
 */
export async function startNeighbour(containers: Containers, runtime: string): Promise<Neighbour> {
  const { id } = await containers.create({
    ...{ name: `aimi-test-${randomBytes(6).toString("hex")}`, labels: { [testLabel]: "neighbour" } },
    ...{
      image: baseImage,
      command: ["python3", "-c", ticking],
      env: {},
      user: "1000:1000",
      workdir: "/",
    },
    ...{ runtime, network: { kind: "none" }, limits: defaultLimits, capabilities: [] },
    ...{ readOnlyRoot: false, privileged: false, tmpBytes: 1024 ** 2, volumes: [] },
  });
  await containers.start(id);
  return {
    id,
    async gaps() {
      const times = (await readLog(containers, id)).split("\n").slice(0, -1);
      const read = times.map((line) => line.split(" ").map(Number) as [number, number]);
      return read.slice(1).map(([to, until], index) => {
        const [from, since] = read[index] ?? [to, until];
        return { span: { from, to }, ms: until - since };
      });
    },
    [Symbol.asyncDispose]: () => containers.remove(id),
  };
}

/** Those that a piece of time has any part of. */
export function gapsIn(gaps: readonly Gap[], { from, to }: Span): readonly Gap[] {
  return gaps.filter(({ span }) => span.to > from && span.from < to);
}

/** The 99th percentile, rounded down: of up to a hundred gaps all but the longest, for one hiccup is any machine's. */
export function percentile99(gaps: readonly Gap[]): number {
  const sorted = gaps.map(({ ms }) => ms).toSorted((one, other) => one - other);
  const found = sorted[Math.floor((sorted.length - 1) * 0.99)];
  if (found === undefined) throw new Error("the neighbour wrote nothing meanwhile, or nothing ran");
  return found;
}

async function readLog(containers: Containers, id: string): Promise<string> {
  const pieces: Uint8Array[] = [];
  for await (const { stream, bytes } of containers.logs(id, { follow: false }))
    if (stream === "stdout") pieces.push(bytes);
  return Buffer.concat(pieces).toString();
}
