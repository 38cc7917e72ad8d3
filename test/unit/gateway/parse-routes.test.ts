import { describe, expect, test } from "vitest";
import { parseRoutes } from "../../../src/gateway/parse-routes.ts";

const head = "Iface\tDestination\tGateway \tFlags\tRefCnt\tUse\tMetric\tMask\t\tMTU\tWindow\tIRTT";
const row = (destination: string, mask: string): string =>
  `eth0\t${destination}\t00000000\t0001\t0\t0\t0\t${mask}\t0\t0\t0   `;

describe("the routes of this machine", () => {
  test("are the ranges of the kernel's table, whose numbers stand the last byte first", () => {
    const rows = [row("000011AC", "0000FFFF"), row("0002A8C0", "00FFFFFF"), row("0801D50A", "F8FFFFFF")];

    expect(parseRoutes([head, ...rows, ""].join("\n"))).toEqual([
      ...["172.17.0.0/16", "192.168.2.0/24", "10.213.1.8/29"],
    ]);
  });

  test("are without the way to everything, which takes no range", () => {
    expect(parseRoutes([head, row("00000000", "00000000")].join("\n"))).toEqual([]);
  });

  test.each([
    ["nothing", ""],
    ["a head alone", head],
    ["something else", `${head}\nfour words of prose`],
  ])("are none in a table that is %s", (_what, table) => {
    expect(parseRoutes(table)).toEqual([]);
  });
});
