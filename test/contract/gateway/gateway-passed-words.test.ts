import fc from "fast-check";
import { describe, expect } from "vitest";
import { isForwardedHeader, toForwardedQuery } from "../../../gateway/model/forwarded-headers.ts";
import { parseModelEndpoint } from "../../../src/egress/parse-endpoint.ts";
import { test } from "../../fakes/folders.ts";
import { agentRequests } from "../../fakes/gateway/agent-requests.ts";
import {
  admissionOf,
  admittedWorker,
  ask,
  endpointAt,
  messageOf,
  startGateway,
  startUpstream,
  workerToken,
} from "../../fakes/gateway/gateway.ts";
import { httpProxy } from "../../fakes/gateway/naive-proxy.ts";

/** By each of these a service behind the same address takes another account, another payer or another project. */
const accountHeaders = [
  ...["x-litellm-api-key", "x-litellm-key", "helicone-auth", "helicone-target-url", "x-portkey-api-key"],
  ...["x-portkey-virtual-key", "x-portkey-config", "openai-organization", "openai-project"],
  ...["x-goog-user-project", "x-goog-iam-authorization-token", "x-goog-iam-authority-selector"],
  ...["api-key", "ocp-apim-subscription-key", "x-amz-security-token", "cf-aig-authorization"],
  ...["x-openrouter-api-key", "x-braintrust-api-key", "x-provider-api-keys", "langfuse-public-key"],
  ...["x-anthropic-billing-header", "x-openai-actor-authorization", "x-org-id", "proxy-authorization"],
];
/** The same in the address. (`key` is where the worker's own token may stand: with another one there it is not let in.) */
const accountParameters = [
  ...["$key", "api_key", "api-key", "apikey", "access_token", "oauth_token", "bearer_token"],
  ...["quotaUser", "userProject", "$userProject", "x-api-key", "authorization", "$httpHeaders", "sig"],
];

const apis = ["anthropic", "openai", "google", null] as const;

async function seenThroughGateway(
  folder: string,
  { headers, query = "", pass = [] }: { headers: Record<string, string>; query?: string; pass?: string[] },
): Promise<{ readonly names: string[]; readonly url: string }> {
  await using upstream = await startUpstream((_request, response) =>
    response.writeHead(200, { "content-type": "application/json" }).end(messageOf(1, 1)),
  );
  await using gateway = await startGateway(folder);
  await gateway.admit(
    admissionOf([endpointAt(upstream.url, { pass })], { workers: [admittedWorker("one")] }),
  );
  await ask(gateway.door, { path: `/m/anthropic/v1/messages${query}`, headers });
  const [request] = upstream.requests;
  return { names: Object.keys(request?.headers ?? {}), url: request?.url ?? "" };
}

const valued = (names: readonly string[]): Record<string, string> =>
  Object.fromEntries(names.map((name) => [name, "another-account"]));

describe("what of an agent's request goes on to the API", () => {
  test("is no header and no parameter that names another account", async ({ folder }) => {
    const query = `?beta=true&${accountParameters.map((name) => `${name}=mine`).join("&")}`;

    const { names, url } = await seenThroughGateway(folder, { headers: valued(accountHeaders), query });

    expect(names.filter((name) => accountHeaders.includes(name))).toEqual([]);
    expect(url).toBe("/v1/messages?beta=true");
  });

  test("control: a proxy that takes only known keys away passes all of them on", async () => {
    await using upstream = await startUpstream((_request, response) => response.end("{}"));
    await using proxy = await httpProxy(Number(new URL(upstream.url).port), {
      headers: ({ "x-api-key": _key, authorization: _token, ...others }) => others,
    });

    await fetch(`http://127.0.0.1:${proxy.port}/v1/messages?key=mine`, {
      method: "POST",
      headers: valued(accountHeaders.filter((name) => name !== "proxy-authorization")),
    });

    const [request] = upstream.requests;
    expect(request?.url).toBe("/v1/messages?key=mine");
    expect(request?.headers).toMatchObject({ "x-litellm-api-key": "another-account" });
  });

  test("is all that the real agents send", () => {
    for (const [agent, { api, headers, query }] of Object.entries(agentRequests)) {
      expect(
        headers.filter((name) => !isForwardedHeader({ api }, name)),
        agent,
      ).toEqual([]);
      expect(toForwardedQuery({ api }, query), agent).toBe(query === "" ? "" : `?${query}`);
    }
  });

  test("is none of a thousand names that no agent sends", () => {
    const word = fc.stringMatching(/^[a-z]{2,9}$/);
    const name = fc
      .tuple(fc.constantFrom("x", "x-goog", "x-stainless", "x-codex", "openai", "anthropic"), word, word)
      .map((words) => words.join("-"));
    const names = new Set(fc.sample(name, { numRuns: 1_000, seed: 20_26 }));

    for (const api of apis) {
      expect([...names].filter((each) => isForwardedHeader({ api }, each))).toEqual([]);
      expect([...names].filter((each) => toForwardedQuery({ api }, `${each}=1`) !== "")).toEqual([]);
    }
  });

  test("is read in one way: a parameter in another spelling, or behind a semicolon, goes nowhere", () => {
    for (const query of [
      "key=2",
      "%62eta=true",
      "beta=1;key=2",
      "key=2;beta=1",
      "BETA=1",
      "beta%3D1",
      " beta=1",
      "=1",
      "&&",
    ])
      expect(toForwardedQuery({ api: "anthropic" }, query), query).toBe("");
  });

  test("is what the user's settings name beside that", async ({ folder }) => {
    const words = parseModelEndpoint("anthropic=https://models.example,pass=X-Team,pass=tenantId");
    if (words.kind === "refused") throw new Error(words.reason);

    const { names, url } = await seenThroughGateway(folder, {
      ...{ headers: { "x-team": "blue", "x-other": "red" }, query: "?tenantId=7&other=1" },
      pass: [...words.pass],
    });

    expect(names).toContain("x-team");
    expect(names).not.toContain("x-other");
    expect(url).toBe("/v1/messages?tenantId=7");
  });

  test("is no word of the connection, though the user names it", () => {
    for (const name of ["Connection", "accept-encoding", "Range", "x-http-method-override", "a b", ""])
      expect(parseModelEndpoint(`lab=https://models.example,pass=${name}`).kind, name).toBe("refused");
  });

  test("is never the worker's token", async ({ folder }) => {
    const { names } = await seenThroughGateway(folder, {
      headers: { "x-api-key": workerToken("one"), "x-goog-api-key": workerToken("one") },
    });

    expect(names).not.toContain("x-goog-api-key");
  });
});
