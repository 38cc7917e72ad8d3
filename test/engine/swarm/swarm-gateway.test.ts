import type { ServerResponse } from "node:http";
import { describe, expect, inject } from "vitest";
import type { SwarmState } from "../../../src/state/rules/swarm-state.ts";
import { count } from "../../counts.ts";
import { dockerAt } from "../../fakes/engine/engine-at.ts";
import { eventually } from "../../fakes/eventually.ts";
import { writeTask } from "../../fakes/folders.ts";
import { messageOf, startUpstream } from "../../fakes/gateway/gateway.ts";
import { git } from "../../fakes/git/repository.ts";
import {
  begun,
  leftOnEngine,
  projectOf,
  type SwarmPlace,
  stateOf,
  swarmIn,
  test,
} from "../../fakes/swarm/swarms.ts";
import { storyWith, taskFileWith } from "../../fakes/tasks/task-files.ts";

const docker = dockerAt(inject("endpoint"));

/** Where the engine's containers with a way out find this process. */
async function hostAddress(): Promise<string> {
  const { IPAM } = await docker.getNetwork("bridge").inspect();
  return IPAM?.Config?.[0]?.Gateway ?? "";
}

const labelOf = (place: SwarmPlace): string => `org.aimi.project=${projectOf(place)}`;

const tokensOfCall = 100;
const answer = (response: ServerResponse): void =>
  void response.writeHead(200, { "content-type": "application/json" }).end(messageOf(0, tokensOfCall));

/** Calls its model so often, or until it is refused for good; what only failed is asked again, as agents do. */
const calling = (calls: number, model = "LAB"): string =>
  [
    `echo kept > kept-$AIMI_STORY_ID.txt; [ $AIMI_STORY_ID = US-001 ] && exit 0; done=0`,
    `while [ $done -lt ${calls} ]; do`,
    `code=$(curl -s -o /dev/null -w '%{http_code}' -m 20 -H "x-api-key: $AIMI_MODEL_${model}_KEY" -d '{"model":"m","max_tokens":150}' "$AIMI_MODEL_${model}_URL/v1/messages")`,
    `case $code in 200) done=$((done+1));; 403) echo "$code" >> refused.txt; exit 1;; *) sleep 0.2;; esac`,
    `done; echo $done > done.txt`,
  ].join("\n");

function writeCallers(
  { repository }: SwarmPlace,
  names: readonly string[],
  { calls, model }: { readonly calls: number; readonly model?: string },
): void {
  for (const name of names)
    writeTask(
      repository,
      `2026-01-02-${name}-tasks.json`,
      taskFileWith({
        metadata: {
          branchName: `feat/${name}`,
          agent: { kind: "command", command: ["sh", "-c", calling(calls, model)] },
        },
        stories: [storyWith(), storyWith({ id: "US-002", dependsOn: ["US-001"] })],
      }),
    );
}

const spentIn = ({ containers }: SwarmState): number =>
  containers.reduce((sum, { usage }) => sum + (usage?.outputTokens ?? 0), 0);
const reasonsIn = ({ containers }: SwarmState): (string | undefined)[] =>
  containers.map(({ status, reason }) => reason?.code ?? status);

describe("a swarm with a gateway", () => {
  test("comes to its end when its budget is used up, with its work, and goes on with a larger one", async ({
    place,
  }) => {
    const names = Array.from({ length: count.budgetWorkers }, (_, index) => `w${index}`);
    // Nobody spends anything before everybody has finished a story: each asks one call after the other.
    let waiting: ServerResponse[] = [];
    await using model = await startUpstream((_request, response) => {
      waiting.push(response);
      if (model.requests.length < names.length) return;
      for (const each of waiting) answer(each);
      waiting = [];
    }, "0.0.0.0");
    writeCallers(place, names, { calls: 60 });
    const endpoint = `lab=http://${await hostAddress()}:${new URL(model.url).port},api=anthropic`;
    const budget = names.length * 500;
    const words = ["--parallel", String(names.length), "--model-endpoint", endpoint];

    const first = await swarmIn(
      place,
      "start",
      "--all",
      "--json",
      "--budget-tokens",
      String(budget),
      ...words,
    );

    expect(first.exit, first.stderr).toBe(7);
    const spent = model.requests.length * tokensOfCall;
    expect(reasonsIn(stateOf(first))).toEqual(names.map(() => "BUDGET_EXCEEDED"));
    expect(spent).toBeGreaterThanOrEqual(budget);
    expect(spent).toBeLessThanOrEqual(budget + (names.length - 1) * tokensOfCall);
    expect(spentIn(stateOf(first))).toBe(spent);
    expect(first.stderr).toContain("80 % of the budget");
    for (const { collected } of stateOf(first).containers)
      expect(git(place.repository, "show", `${collected?.commit}:kept-US-001.txt`)).toBe("kept\n");
    const summary = await swarmIn(place, "summary", "--json");
    expect(JSON.parse(summary.stdout)).toMatchObject({ totals: { usage: { outputTokens: spent } } });

    const again = await swarmIn(place, "retry", "@failed", "--json", "--budget-tokens", String(budget * 100));

    expect(again.exit, again.stderr).toBe(0);
    expect(reasonsIn(stateOf(again))).toEqual(names.map(() => "completed"));
    expect(spentIn(stateOf(again))).toBe(model.requests.length * tokensOfCall);
    expect(await leftOnEngine(place)).toEqual([]);
  });

  test("goes on when its gateway is killed or removed, and knows what was spent", async ({ place }) => {
    await using model = await startUpstream((_request, response) => {
      setTimeout(() => answer(response), 30);
    }, "0.0.0.0");
    writeCallers(place, ["busy"], { calls: 20 * count.gatewayKills });
    const endpoint = `lab=http://${await hostAddress()}:${new URL(model.url).port},api=anthropic`;
    const { ended, owner } = await begun(
      place,
      "US-002 in progress",
      "start",
      "--all",
      "--json",
      "--model-endpoint",
      endpoint,
    );

    for (let kill = 0; kill < count.gatewayKills; kill += 1) {
      const before = model.requests.length;
      const id = await eventually(
        "a gateway at work",
        async () => {
          const [found] = await docker.listContainers({
            filters: { label: ["org.aimi.role=gateway", labelOf(place)] },
          });
          return found && model.requests.length > before + 2 ? found.Id : null;
        },
        30_000,
      );
      const container = docker.getContainer(id);
      await (kill % 3 === 2 ? container.remove({ force: true }) : container.kill());
    }
    const finished = await ended;

    expect(finished.exit).toBe(0);
    expect(owner.exitCode).toBe(0);
    const state = stateOf(finished);
    expect(reasonsIn(state)).toEqual(["completed"]);
    const answered = model.requests.length * tokensOfCall;
    // The most that a call can be, for each that was under way when it was killed.
    expect(spentIn(state)).toBeGreaterThanOrEqual(answered);
    expect(spentIn(state)).toBeLessThanOrEqual(answered + count.gatewayKills * 150);
    expect(await leftOnEngine(place)).toEqual([]);
  });

  test("halts those whose model takes no more for long, and no others", async ({ place }) => {
    await using model = await startUpstream((request, response) => {
      if (request.url?.startsWith("/free/")) answer(response);
      else response.writeHead(429, { "content-type": "application/json", "retry-after": "900" }).end("{}");
    }, "0.0.0.0");
    writeCallers(place, ["limited"], { calls: 1 });
    writeCallers(place, ["free"], { calls: 30, model: "OTHER" });
    const at = `http://${await hostAddress()}:${new URL(model.url).port}`;
    const endpoints = [`lab=${at},api=anthropic`, `other=${at}/free,api=anthropic`];
    const swarmOf = await begun(
      place,
      "limited  paused",
      ...["start", "--all", "--json", ...endpoints.flatMap((words) => ["--model-endpoint", words])],
    );

    // It may complete before the next commands have ended.
    const freeEnds = swarmOf.reach("free  completed");
    const status = await swarmIn(place, "status");
    const [paused] = await docker.listContainers({
      filters: { name: ["-limited$"], label: [labelOf(place)] },
    });
    await freeEnds;
    await swarmIn(place, "stop");
    const { containers } = stateOf(await swarmOf.ended);

    expect(status.stdout).toMatch(/limited.*paused until \d{4}-\d\d-\d\dT.*: rate limit of the model's API/);
    expect(paused?.State).toBe("paused");
    expect(Object.fromEntries(containers.map((record) => [record.branchName, record.status]))).toEqual({
      "feat/limited": "stopped",
      "feat/free": "completed",
    });
    expect(model.requests.filter(({ url }) => !url?.startsWith("/free/"))).toHaveLength(1);

    expect((await swarmIn(place, "cleanup", "--discard")).exit).toBe(0);
    expect(await leftOnEngine(place)).toEqual([]);
  });
});
