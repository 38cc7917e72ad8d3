import { readFile } from "node:fs/promises";

/** The ranges of IPv4 addresses in this machine's routes, without the default route: the ranges that are in use. */
export async function localRoutes(): Promise<string[]> {
  // Without this file the list is empty; the engine still avoids its own networks.
  const table = await readFile("/proc/net/route", "utf8").catch(() => "");
  return routesIn(table);
}

export function routesIn(table: string): string[] {
  return table
    .split("\n")
    .slice(1)
    .flatMap((line) => {
      const [, destination = "", , , , , , mask = ""] = line.split(/\s+/);
      const bits = bitsOf(mask);
      return /^[0-9A-F]{8}$/i.test(destination) && bits > 0 ? [`${addressOf(destination)}/${bits}`] : [];
    });
}

/** The kernel prints addresses as numbers in the machine's byte order, the last byte first. */
function addressOf(hex: string): string {
  return [6, 4, 2, 0].map((at) => Number.parseInt(hex.slice(at, at + 2), 16)).join(".");
}

function bitsOf(hex: string): number {
  return [...Number.parseInt(hex || "0", 16).toString(2)].filter((bit) => bit === "1").length;
}
