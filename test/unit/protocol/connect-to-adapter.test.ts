import { describe, expect, test } from "vitest";
import { type AdapterConnection, connectToAdapter } from "../../../src/protocol/connect-to-adapter.ts";
import { serializeHostMessage } from "../../../src/protocol/host-message-lines.ts";
import { findAdapterMessageProblem as findProblem } from "../../../src/schema/find-message-problem.ts";
import { FakeAdapter } from "../../fakes/adapter/fake-adapter.ts";
import { begin, containerId, goodNews, swarmId } from "../../fakes/protocol/acp-talk.ts";

function open(adapter: FakeAdapter, from = 0): Promise<AdapterConnection> {
  return connectToAdapter(
    { containers: adapter.containers, findProblem },
    { containerId, from, known: { ...begin(), lastSeq: from } },
    new AbortController().signal,
  );
}

async function firstOf(channel: AdapterConnection): Promise<unknown> {
  for await (const group of channel.received) return group;
  return null;
}

const ack = serializeHostMessage({ swarmId, containerId }, new Date(0), { type: "ack", payload: { seq: 7 } });

describe("a connection to an adapter", () => {
  test("is made as root of the container, from where it is asked to", async () => {
    const adapter = new FakeAdapter();
    adapter.say(...goodNews());

    await using channel = await open(adapter, 4);

    expect(await firstOf(channel)).toMatchObject([
      { kind: "message", message: { type: "hello", payload: { lastSeq: 11 } } },
    ]);
    expect(adapter.commands).toEqual([
      { command: ["/opt/aimi/adapter", "attach", "--from", "4"], input: true, user: "0:0" },
    ]);
  });

  test("keeps the diagnostics apart, a bounded part of them, fit to be shown", async () => {
    const adapter = new FakeAdapter();
    adapter.diagnostics = `\u001b[31mbegin\u0007${"x".repeat(1_000_000)}\u009bJend\n`;

    await using channel = await open(adapter);
    await firstOf(channel);

    expect(channel.diagnostics()).toMatch(/^beginx+\n… \d+ characters left out …\nx+end$/);
    expect(channel.diagnostics().length).toBeLessThan(4_100);
  });

  test("passes lines on whole, without waiting for an end of the input", async () => {
    const seen: number[] = [];
    const adapter = new FakeAdapter({ onAck: (seq) => seen.push(seq) });
    await using channel = await open(adapter);

    await channel.send(ack);

    // That an acknowledgement of what nobody wrote down arrives here is how the tests of conversations see one.
    expect(seen).toEqual([7]);
    expect(adapter.heard).toEqual([
      { type: "ack", payload: { seq: 7 }, line: Buffer.from(ack).toString().trim() },
    ]);
  });
});
