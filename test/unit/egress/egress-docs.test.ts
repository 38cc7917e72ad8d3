import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { isAllowedModelCall, parseRequestRoute } from "../../../gateway/front/request-route.ts";
import { defaultRegistryUrls, type EgressPreset, egressPresets } from "../../../src/egress/allow-list.ts";
import { findAllowingFlag } from "../../../src/egress/describe-denied-request.ts";
import { gatewayPort } from "../../../src/egress/gateway-port.ts";
import { modelApis } from "../../../src/egress/parse-endpoint.ts";
import { defaultSubnets } from "../../../src/egress/worker-subnets.ts";
import { modelPricesDate } from "../../../src/usage/model-prices.ts";

const page = readFileSync(new URL("../../../docs/gateway.md", import.meta.url), "utf8");

/** The rows of the table with this heading, as they are written. */
function rowsBelow(heading: string): string[] {
  const [, rows = ""] = page.split(`${heading}\n`)[1]?.match(/^\|[-|]+\|\n((?:\|.*\|\n)+)/) ?? [];
  return rows.trimEnd().split("\n");
}

function rowOf([name, { description, hosts, mirror }]: [string, EgressPreset]): string {
  const shown = hosts.map(({ host, port }) => `\`${host}:${port}\``).join(" ");
  const read = mirror === undefined ? "" : `\`${new URL(defaultRegistryUrls[mirror] ?? "").host}\``;
  return `| \`${name}\` | ${description} | ${shown || "–"} | ${read || "–"} |`;
}

describe("the page about the gateway", () => {
  test("has the presets that the code has, with all that they open", () => {
    expect(rowsBelow("| preset | opens | hosts, by a tunnel | mirror of |")).toEqual(
      Object.entries(egressPresets).map(rowOf),
    );
  });

  test("names calls of models that are passed on, of each API", () => {
    const rows = rowsBelow("| API | calls |").map((row) => [...row.matchAll(/`([^`]+)`/g)]);
    const named = rows.map(([api, ...calls]) => ({
      api: api?.[1],
      calls: calls.map(([, call = ""]) => call),
    }));

    expect(named.map(({ api }) => api)).toEqual([...modelApis]);
    for (const api of modelApis) {
      const calls = named.find((row) => row.api === api)?.calls ?? [];
      expect(calls.length).toBeGreaterThanOrEqual(3);
      for (const call of calls) {
        const [method = "", path = ""] = call.split(" ");
        expect(isAllowedModelCall(api, method, path), call).toBe(true);
        expect(isAllowedModelCall(api, "DELETE", path), call).toBe(false);
        expect(parseRequestRoute(`/m/${api}${path}`)).toMatchObject({ kind: "model", endpoint: api, path });
      }
    }
  });

  test("shows a denial as it is shown, and numbers as they are", () => {
    const denied = "api.example.com:443";

    expect(page).toContain(`${findAllowingFlag({ what: denied, why: "not-allowed" })} allows this request`);
    expect(page).toContain(`127.0.0.1:${gatewayPort}`);
    expect(page).toContain(defaultSubnets);
    expect(page).toContain(`published on ${modelPricesDate}`);
  });
});
