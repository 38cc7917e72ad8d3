import { BlockList, isIPv4, isIPv6 } from "node:net";

type Net = readonly [address: string, prefix: number];

/**
 * The IPv4 networks that are not on the public internet: those in IANA's special-purpose registry, and those
 * in which clouds offer services such as metadata to their machines.
 */
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
  // An address in the public range that is a service of the host below a virtual machine at Azure.
  ["168.63.129.16", 32],
];

/**
 * The IPv6 networks within 2000::/3 that are not on the public internet, for example those for Teredo, 6to4
 * and documentation. IANA has allocated no other part of IPv6 for the internet.
 */
const closedIpv6: readonly Net[] = [
  ["2001::", 23],
  ["2001:db8::", 32],
  ["2002::", 16],
  ["3fff::", 20],
];

const closed = blockList(closedIpv4, closedIpv6);
const global = blockList([], [["2000::", 3]]);
/**
 * The IPv6 networks whose addresses lead to the IPv4 address in their last four bytes: IPv4-mapped addresses,
 * and NAT64. Other IPv6 addresses that contain an IPv4 address, such as 6to4 and Teredo, count as not public.
 */
const embedding = blockList(
  [],
  [
    ["::ffff:0:0", 96],
    ["64:ff9b::", 96],
  ],
);

/**
 * Whether an address is on the public internet. No service of this machine, its networks or its cloud has
 * such an address.
 */
export function isPublicAddress(address: string): boolean {
  if (isIPv4(address)) return !closed.check(address, "ipv4");
  // Refuses a zone such as `%eth0`, which selects a network interface: no address on the internet needs one.
  if (!isIPv6(address) || address.includes("%")) return false;
  if (embedding.check(address, "ipv6")) return !closed.check(lastFourBytes(address), "ipv4");
  return global.check(address, "ipv6") && !closed.check(address, "ipv6");
}

function lastFourBytes(address: string): string {
  // Uses the URL parser, which normalises every spelling so that the last two groups are hexadecimal.
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
