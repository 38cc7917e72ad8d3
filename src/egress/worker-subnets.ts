/** The subnet of a network that only one worker and the gateway join, and the addresses of these two. */
export interface WorkerSubnet {
  readonly subnet: string;
  readonly gateway: string;
  readonly worker: string;
}

/**
 * The default address range from which swarm takes the subnets of workers' networks; SWARM_SUBNETS overrides
 * it. Swarm does not use the engine's own range, which suffices for only about thirty networks.
 */
export const defaultSubnets = "10.213.0.0/16";

/**
 * The number of addresses in the subnet of a worker's network: network, engine, gateway, worker, three unused
 * ones, and broadcast.
 */
const size = 8;

interface Range {
  readonly first: number;
  readonly last: number;
}

/**
 * Yields, in ascending order, the possible subnets for workers' networks in an address range. Omits subnets
 * that overlap a subnet in `taken`.
 */
export function* freeSubnets(range: string, taken: readonly string[]): Generator<WorkerSubnet> {
  const whole = rangeOf(range);
  if (whole === null) return;
  const others = taken.map(rangeOf).filter((other) => other !== null);
  for (let first = whole.first; first + size - 1 <= whole.last; first += size) {
    const last = first + size - 1;
    if (!others.some((other) => other.first <= last && other.last >= first)) yield subnetFrom(first);
  }
}

/**
 * Returns the addresses of the gateway and the worker in an existing network's subnet. Null if the subnet
 * does not have the size that swarm gives to workers' networks.
 */
export function parseWorkerSubnet(subnet: string): WorkerSubnet | null {
  const range = rangeOf(subnet);
  return range !== null && range.last - range.first + 1 === size ? subnetFrom(range.first) : null;
}

function subnetFrom(first: number): WorkerSubnet {
  const at = (offset: number): string => addressOf(first + offset);
  return { subnet: `${at(0)}/29`, gateway: at(2), worker: at(3) };
}

/** Whether a text is a valid range of IPv4 addresses that has room for at least one worker's network. */
export function isSubnetRange(text: string): boolean {
  const range = rangeOf(text);
  return range !== null && range.last - range.first + 1 >= size;
}

function rangeOf(text: string): Range | null {
  const [, address = "", bits = ""] = /^(\d{1,3}(?:\.\d{1,3}){3})\/(\d{1,2})$/.exec(text) ?? [];
  const parts = address.split(".").map(Number);
  if (address === "" || Number(bits) > 32 || parts.some((part) => part > 255)) return null;
  const length = 2 ** (32 - Number(bits));
  const value = parts.reduce((sum, part) => sum * 256 + part, 0);
  const first = Math.floor(value / length) * length;
  return { first, last: first + length - 1 };
}

function addressOf(value: number): string {
  return [24, 16, 8, 0].map((shift) => Math.floor(value / 2 ** shift) % 256).join(".");
}
