import { readFile } from "node:fs/promises";

/** The ranges of IPv4 addresses that this machine has ways to, besides everything: what is taken for other uses. */
export async function localRoutes(): Promise<string[]> {
  // Where the kernel does not say, the engine knows its own networks all the same.
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

/** The kernel writes them as numbers of this machine, the last byte first. */
function addressOf(hex: string): string {
  return [6, 4, 2, 0].map((at) => Number.parseInt(hex.slice(at, at + 2), 16)).join(".");
}

function bitsOf(hex: string): number {
  return [...Number.parseInt(hex || "0", 16).toString(2)].filter((bit) => bit === "1").length;
}
