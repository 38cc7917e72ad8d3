import { BlockList, isIPv4, isIPv6 } from "node:net";

type Net = readonly [address: string, prefix: number];

/** Of the registries for special purposes, what is not on the internet, and what a cloud puts beside its machines. */
const closedIpv4: readonly Net[] = [
  ["0.0.0.0", 8],
  ["10.0.0.0", 8],
  ["100.64.0.0", 10],
  ["127.0.0.0", 8],
  ["169.254.0.0", 16],
  ["172.16.0.0", 12],
  ["192.0.0.0", 24],
  ["192.0.2.0", 24],
  ["192.88.99.0", 24],
  ["192.168.0.0", 16],
  ["198.18.0.0", 15],
  ["198.51.100.0", 24],
  ["203.0.113.0", 24],
  ["224.0.0.0", 4],
  ["240.0.0.0", 4],
  // It looks public and is a service of the host that a virtual machine at Azure runs on.
  ["168.63.129.16", 32],
];

/** Within 2000::/3, the only part of IPv6 that is given out: protocols (Teredo among them), documentation, 6to4. */
const closedIpv6: readonly Net[] = [
  ["2001::", 23],
  ["2001:db8::", 32],
  ["2002::", 16],
  ["3fff::", 20],
];

const closed = blockList(closedIpv4, closedIpv6);
const global = blockList([], [["2000::", 3]]);
/**
 * Ways of writing an IPv4 address that lead to it. A resolver on a network without IPv4 answers with the second. All others
 * (compatible, 6to4, Teredo, NAT64 of a network's own) lead nowhere or where nobody knows, whatever they embed.
 */
const embedding = blockList(
  [],
  [
    ["::ffff:0:0", 96],
    ["64:ff9b::", 96],
  ],
);

/** Whether an address is one on the internet: no service of this machine, its networks or its cloud is there. */
export function isPublicAddress(address: string): boolean {
  if (isIPv4(address)) return !closed.check(address, "ipv4");
  // A zone (`%eth0`) chooses a network card, which nothing on the internet needs.
  if (!isIPv6(address) || address.includes("%")) return false;
  if (embedding.check(address, "ipv6")) return !closed.check(lastFourBytes(address), "ipv4");
  return global.check(address, "ipv6") && !closed.check(address, "ipv6");
}

function lastFourBytes(address: string): string {
  // The parser of addresses writes every spelling in one way: two groups of hexadecimal digits at the end.
  const groups = new URL(`http://[${address}]`).hostname.slice(1, -1).split(":");
  const [high = 0, low = 0] = groups.slice(-2).map((group) => Number.parseInt(group || "0", 16));
  return [high >> 8, high & 0xff, low >> 8, low & 0xff].join(".");
}

function blockList(ipv4: readonly Net[], ipv6: readonly Net[]): BlockList {
  const list = new BlockList();
  for (const [address, prefix] of ipv4) list.addSubnet(address, prefix, "ipv4");
  for (const [address, prefix] of ipv6) list.addSubnet(address, prefix, "ipv6");
  return list;
}
