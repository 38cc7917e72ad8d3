import { createHash, createHmac } from "node:crypto";
import { describe, expect, test } from "vitest";
import type { AdmissionPayload, GatewayHello, ModelEndpoint } from "../../../src/contract/gateway.ts";
import type { GatewayListener } from "../../../src/gateway/gateway-connection.ts";
import type { GatewayDeps, GatewayRecord, WorkerToAdmit } from "../../../src/gateway/gateway-deps.ts";
import { superviseGateway } from "../../../src/gateway/supervise-gateway.ts";
import type { Worker } from "../../../src/swarm/worker/worker.ts";
import { zeroSpending } from "../../../src/usage/spending.ts";
import { fakeSwarm } from "../../fakes/swarm/fake-swarm.ts";
import { taskFileWith } from "../../fakes/tasks/task-files.ts";

const endpoint: ModelEndpoint = {
  ...{ name: "anthropic", api: "anthropic", pass: [], url: "https://api.example" },
  credential: {
    ...{ kind: "login", accessToken: "access-1", refreshToken: "refresh-1", expiresAt: 1 },
    ...{ refreshUrl: "https://api.example/token", clientId: "client" },
  },
};

const askingWorker = (slug: string): WorkerToAdmit => ({
  ...{ name: `aimi-aaaaaa-bbbbbb-${slug}`, slug },
  task: { path: `${slug}.json`, fileName: `${slug}.json`, sha256: null, taskFile: taskFileWith() },
  request: { agent: { kind: "claude" } } as WorkerToAdmit["request"],
});

/** What is needed to keep a gateway whose other end says hello to everything. */
function gatewayWith(change: Partial<GatewayDeps> = {}, note: GatewayRecord | null = null) {
  const { deps: swarm, containers } = fakeSwarm([{ slug: "one" }, { slug: "two" }]);
  const admissions: AdmissionPayload[] = [];
  const legs: string[] = [];
  const keptLogins: string[] = [];
  let kept = note;
  let heard: GatewayListener | null = null;
  const hello: GatewayHello = {
    ...{ type: "hello", version: "1", lastSeq: 0, isAdmitted: true, spent: zeroSpending, workers: {} },
  };
  const { sandboxes, time } = swarm;
  const gateway = superviseGateway({
    ...swarm,
    sandboxes: {
      ...sandboxes,
      networks: {
        create: async ({ name }) => name,
        list: async () => [],
        names: async () => [],
        subnets: async () => [{ name: "aimi-aaaaaa-bbbbbb-one.net", subnet: "10.213.0.8/29" }],
        connect: async (name) => void legs.push(name),
        remove: async () => {},
      },
      ...{ ownRuntime: "runc", subnetRange: "10.213.0.0/16" },
    },
    connect(listener) {
      heard = listener;
      return {
        async sendAdmission() {
          await listener.ensureRunning(time.signal);
          admissions.push(structuredClone(listener.admission()));
          listener.onHello(hello);
        },
        async [Symbol.asyncDispose]() {},
      };
    },
    record: {
      find: async () => kept,
      async keep(next) {
        kept = next;
      },
    },
    policy: {
      prices: [],
      budget: { usd: null, tokens: null },
      rightsOf: () => ({ mirrors: [], allow: [], budget: { usd: null, tokens: null } }),
      agentOf: () => ({ kind: "claude" }),
      environment: () => ({}),
      planEndpoints: () => [
        {
          ...{ name: "anthropic", provider: "anthropic", api: "anthropic" },
          ...{ url: "https://api.example", agents: ["claude"], pass: [] },
          credential: { kind: "login", reference: "file:/login" },
        },
      ],
    },
    secrets: {
      resolve: async () => [endpoint],
      mirrors: async () => [],
      storeLogin: (_reference, { refreshToken }) => void keptLogins.push(refreshToken),
    },
    workersAtWork: async () => [],
    ...change,
  });
  const listener = (): GatewayListener => {
    if (heard === null) throw new Error("Nobody holds it yet");
    return heard;
  };
  return { gateway, admissions, legs, keptLogins, containers, listener, note: () => kept };
}

const sha256 = (text: string): string => createHash("sha256").update(text).digest("hex");

const namesIn = (admission: AdmissionPayload | undefined): (string | undefined)[] =>
  admission?.workers.map(({ worker }) => worker) ?? [];

describe("a gateway that an owner before this one has made", () => {
  const found: GatewayRecord = { secret: "old", road: "network", runtime: "runc" };

  test("is told of everybody who is at work, before anybody can be sent away", async () => {
    const { gateway, admissions } = gatewayWith({ workersAtWork: async () => [askingWorker("one")] }, found);

    await gateway.open(askingWorker("two") as Worker);

    expect(namesIn(admissions[0])).toEqual(["one"]);
    expect(admissions[0]?.workers[0]).toMatchObject({
      tokenSha256: sha256(createHmac("sha256", "old").update("one").digest("base64url")),
      address: "10.213.0.11",
    });
    for (const admission of admissions) expect(namesIn(admission)).toContain("one");
  });

  test("comes into the networks of those that are at work", async () => {
    const { gateway, legs } = gatewayWith({ workersAtWork: async () => [askingWorker("one")] }, found);

    await gateway.open(askingWorker("two") as Worker);

    // Its own worker asks for nothing: it is at work already.
    expect(legs).toContain("aimi-aaaaaa-bbbbbb-one.net");
  });

  test("is told only of who asks, where nobody is at work", async () => {
    const { gateway, admissions } = gatewayWith({}, { ...found, road: "socket" });

    await gateway.open(askingWorker("two") as Worker);

    expect(admissions.map(namesIn)).toEqual([[], ["two"]]);
  });

  test("has its way to sandboxes tried again for another runtime", async () => {
    const { gateway, note, containers } = gatewayWith({}, { ...found, runtime: "runsc" });
    const created: string[] = [];
    const { create } = containers;
    Object.assign(containers, {
      create: (...words: Parameters<typeof create>) => {
        created.push(words[0].name);
        return create(...words);
      },
    });

    await gateway.open(askingWorker("two") as Worker);

    expect(created.some((name) => name.endsWith(".knock"))).toBe(true);
    expect(note()).toMatchObject({ secret: "old", runtime: "runc" });
  });
});

describe("a gateway that is made again", () => {
  test("is told the newest login and all that was spent, not what was so when workers came", async () => {
    const { gateway, admissions, listener, keptLogins } = gatewayWith();
    await gateway.open(askingWorker("two") as Worker);
    const spent = { ...zeroSpending, calls: 1, costUsd: 4.9 };

    listener().onLogin({
      ...{ type: "login", endpoint: "anthropic", accessToken: "access-2", refreshToken: "refresh-2" },
      expiresAt: 2,
    });
    listener().onHello({
      ...{ type: "hello", version: "1", lastSeq: 1, isAdmitted: true, spent, workers: { two: spent } },
    });
    await gateway.waitForRecords({ slug: "two" });

    expect(keptLogins).toEqual(["refresh-2"]);
    const last = admissions.at(-1);
    expect(last?.endpoints[0]?.credential).toMatchObject({ refreshToken: "refresh-2" });
    expect(last?.workers[0]?.spent.costUsd).toBe(4.9);
    expect(last?.spent.costUsd).toBe(4.9);
  });
});
