import { readFile } from "node:fs/promises";

/** Lists the IPv4 address ranges in this machine's routing table, except the default route. */
export async function readLocalRoutes(): Promise<string[]> {
  // Without `/proc/net/route`, the list is empty. The engine still avoids overlaps with its own networks.
  const table = await readFile("/proc/net/route", "utf8").catch(() => "");
  return parseRoutes(table);
}

export function parseRoutes(table: string): string[] {
  return table
    .split("\n")
    .slice(1)
    .flatMap((line) => {
      const [, destination = "", , , , , , mask = ""] = line.split(/\s+/);
      const bits = bitsOf(mask);
      return /^[0-9A-F]{8}$/i.test(destination) && bits > 0 ? [`${addressOf(destination)}/${bits}`] : [];
    });
}

/**
 * Converts an IPv4 address from the form in `/proc/net/route`, eight hexadecimal digits with the last byte
 * first.
 */
function addressOf(hex: string): string {
  return [6, 4, 2, 0].map((at) => Number.parseInt(hex.slice(at, at + 2), 16)).join(".");
}

function bitsOf(hex: string): number {
  return [...Number.parseInt(hex || "0", 16).toString(2)].filter((bit) => bit === "1").length;
}
