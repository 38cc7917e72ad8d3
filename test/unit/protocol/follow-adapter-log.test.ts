import { describe, expect, test } from "vitest";
import type { ContainerExecution, ExecExit, ExecSpec, OutputChunk } from "../../../src/engine/containers.ts";
import { followAdapterLog } from "../../../src/protocol/follow-adapter-log.ts";

const signal = new AbortController().signal;

/** A container whose program writes this, and remembers how it was started and left. */
function containerThatSays(chunks: readonly OutputChunk[], exit: ExecExit) {
  const started: ExecSpec[] = [];
  const left: string[] = [];
  const execution = async (id: string): Promise<ContainerExecution> => ({
    id,
    write: async () => {},
    endInput: async () => {},
    output: (async function* () {
      yield* chunks;
    })(),
    exit: async () => exit,
    [Symbol.asyncDispose]: async () => void left.push(id),
  });
  return {
    started,
    left,
    containers: {
      exec: async (id: string, spec: ExecSpec) => {
        started.push(spec);
        return execution(id);
      },
    },
  };
}

const out = (text: string): OutputChunk => ({ stream: "stdout", bytes: Buffer.from(text) });

describe("what an adapter tells people", () => {
  test("comes line by line, clean, and ends with its container", async () => {
    const { containers, started, left } = containerThatSays(
      [out("12:00:00 US-0"), out("01 a\n\u001b[2Jb\u202e\r\n"), out("torn")],
      { kind: "lost", reason: "the container is exited" },
    );

    const lines = await Array.fromAsync(followAdapterLog(containers, { containerId: "c", last: 5 }, signal));

    expect(lines).toEqual(["12:00:00 US-001 a", "b "]);
    expect(started).toMatchObject([
      { command: ["/opt/aimi/adapter", "tail", "--last", "5", "--follow"], user: "0:0", input: true },
    ]);
    expect(left).toEqual(["c"]);
  });

  test("is left when nobody reads any more", async () => {
    const { containers, left } = containerThatSays([out("one\ntwo\n")], { kind: "exited", code: 0 });

    for await (const line of followAdapterLog(containers, { containerId: "c", last: 5 }, signal)) {
      expect(line).toBe("one");
      break;
    }

    expect(left).toEqual(["c"]);
  });

  test("is an error where there is nobody to tell it", async () => {
    const complaint: OutputChunk = { stream: "stderr", bytes: Buffer.from("adapter: \u001b[31munknown\n") };
    const { containers } = containerThatSays([complaint], { kind: "exited", code: 2 });

    await expect(
      Array.fromAsync(followAdapterLog(containers, { containerId: "c", last: 5 }, signal)),
    ).rejects.toMatchObject({ code: "EXEC_FAILED", details: { reason: "adapter: unknown " } });
  });
});
