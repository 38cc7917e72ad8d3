import { engineFailed } from "../engine-failed.ts";

/**
 * The network of one private engine, which shares nothing with other engines: a bridge, an address range, and
 * iptables chains.
 */
export interface EngineNetwork {
  readonly bridge: string;
  readonly chain: string;
  /** The second number (x) of the network's address range 10.x.0.0/16. */
  readonly secondOctet: number;
}

export const minSecondOctet = 214;
export const maxSecondOctet = 239;

/** Chooses the second number (x) of an address range 10.x.0.0/16 that overlaps no route of this machine. */
export async function chooseSecondOctet(seed: string): Promise<number> {
  const { stdout, stderr, exitCode } = await run("ip -4 -o route show table all");
  if (exitCode !== 0) throw engineFailed("read the machine's IP routes", stderr.trim());
  const routes = [...stdout.matchAll(/\b(\d+)\.(\d+)\.\d+\.\d+(?:\/(\d+))?/g)];
  const touches = (octet: number): boolean =>
    routes.some(([, first, second, length = "32"]) => {
      // Two ranges overlap if they agree in the bits of the wider one. A /16 range has sixteen bits.
      const shift = 16 - Math.min(16, Number(length));
      return ((10 << 8) | octet) >> shift === ((Number(first) << 8) | Number(second)) >> shift;
    });
  // Each engine starts its search at another number, so that two engines that start at once seldom choose the
  // same one.
  const count = maxSecondOctet - minSecondOctet + 1;
  const start = Number.parseInt(seed, 16) % count;
  for (let tried = 0; tried < count; tried += 1) {
    const octet = minSecondOctet + ((start + tried) % count);
    if (!touches(octet)) return octet;
  }
  throw engineFailed(
    "find a free IP address range for the engine's networks",
    `every network from 10.${minSecondOctet}.0.0/16 to 10.${maxSecondOctet}.0.0/16 is in use`,
  );
}

/**
 * Creates the bridge and the iptables chains of a private engine. The engine's daemon runs with
 * --iptables=false, because two Docker daemons that write the same DOCKER chains would delete each other's
 * rules.
 */
export async function createEngineNetwork(network: EngineNetwork): Promise<void> {
  const { bridge, chain, secondOctet } = network;
  await closeChains(network);
  await run(`ip link add name ${bridge} type bridge`);
  // Give the bridge a fixed MAC address. Otherwise it has the lowest address of its containers, which changes
  // when containers come and go, and the other containers lose the connection to the bridge.
  await must(`ip link set ${bridge} address 02:42:0a:${secondOctet.toString(16).padStart(2, "0")}:00:01`);
  // Remove old IP addresses: a bridge left over from an earlier engine may have another one, and the daemon
  // would use the first.
  await run(`ip -4 addr flush dev ${bridge}`);
  await must(`ip addr replace 10.${secondOctet}.0.1/24 dev ${bridge}`);
  await must(`ip link set ${bridge} up`);

  const range = `10.${secondOctet}.0.0/16`;
  await must(`iptables -w -t nat -N ${chain}`);
  await must(`iptables -w -t nat -A ${chain} -s ${range} ! -d ${range} -j MASQUERADE`);
  await must(`iptables -w -t nat -I POSTROUTING -j ${chain}`);
  await must(`iptables -w -N ${chain}`);
  // Containers of the same network may reach each other; this rule matters only if bridged frames pass
  // iptables. Containers of different networks may not.
  await run(`iptables -w -A ${chain} -s ${range} -d ${range} -m physdev --physdev-is-bridged -j ACCEPT`);
  await must(`iptables -w -A ${chain} -s ${range} -d ${range} -j DROP`);
  await must(`iptables -w -A ${chain} -s ${range} -j ACCEPT`);
  await must(`iptables -w -A ${chain} -d ${range} -m conntrack --ctstate RELATED,ESTABLISHED -j ACCEPT`);
  await must(`iptables -w -I FORWARD -j ${chain}`);
}

/**
 * Removes the bridge and the iptables chains that `createEngineNetwork` created, and all bridges that the
 * engine created in its address range.
 */
export async function removeEngineNetwork(network: EngineNetwork): Promise<void> {
  await closeChains(network);
  const { stdout } = await run("ip -4 -o addr show");
  const ours = stdout.split("\n").flatMap((line) => {
    const [, name, octet] = /^\d+:\s+(br-[0-9a-f]{12})\s+inet 10\.(\d+)\./.exec(line) ?? [];
    return name !== undefined && Number(octet) === network.secondOctet ? [name] : [];
  });
  for (const bridge of new Set([network.bridge, ...ours])) await run(`ip link del ${bridge}`);
}

/** Returns the command-line flags that make the engine's daemon use only this network. */
export function daemonNetworkFlags({ bridge, secondOctet }: EngineNetwork): string[] {
  return [
    `--bridge=${bridge}`,
    "--iptables=false",
    "--ip6tables=false",
    `--default-address-pool=base=10.${secondOctet}.128.0/17,size=24`,
  ];
}

async function closeChains({ chain }: EngineNetwork): Promise<void> {
  for (const [table, from] of Object.entries({ nat: "POSTROUTING", filter: "FORWARD" })) {
    while ((await run(`iptables -w -t ${table} -D ${from} -j ${chain}`)).exitCode === 0);
    await run(`iptables -w -t ${table} -F ${chain}`);
    await run(`iptables -w -t ${table} -X ${chain}`);
  }
}

async function must(command: string): Promise<void> {
  const { exitCode, stderr } = await run(command);
  if (exitCode !== 0) throw engineFailed(`run \`${command}\``, stderr.trim() || `exit ${exitCode}`);
}

/** Runs a command whose words contain no spaces. */
async function run(command: string) {
  const [program = "", ...args] = command.split(" ");
  // Load `execa` here: a command that only looks for an engine runs no program.
  const { execa } = await import("execa");
  return execa(program, args, {
    reject: false,
    stdin: "ignore",
    env: { PATH: `${process.env["PATH"] ?? ""}:/usr/sbin:/sbin` },
  });
}
