import type { Probe } from "./egress-probes.ts";
import { allowedName, type EgressTargets } from "./egress-targets.ts";

/** What somebody who wants out may know, of where he is. */
export interface Whereabouts {
  readonly targets: EgressTargets;
  /** The first of its own network, where an engine has itself by default. */
  readonly firstAddress: string;
  readonly neighbour: {
    readonly name: string;
    readonly addresses: readonly string[];
    readonly port: number;
    /** What lets it in at the gateway, or nearly so. */
    readonly token: string;
  };
  /** In the engine's own network. */
  readonly gatewayAddress: string;
  readonly gatewayPort: number;
  /** Where the gateway is in the network of who asks; null for who has none. */
  readonly gatewayBeside: string | null;
}

export interface EgressCheck {
  readonly name: string;
  readonly probes: (at: Whereabouts, word: string) => readonly Probe[];
}

type ProbesOf = EgressCheck["probes"];

const tls = { serverName: allowedName };

function direct(name: string, probes: ProbesOf): EgressCheck {
  return { name, probes };
}

/** By CONNECT, to what `authority` says. */
function tunnel(name: string, authority: (at: Whereabouts) => string): EgressCheck {
  return { name, probes: (at) => [{ kind: "tunnel", authority: authority(at), within: tls }] };
}

const bytesOf = (address: string): number[] => address.split(".").map(Number);
const numberOf = (address: string): number => bytesOf(address).reduce((sum, byte) => sum * 256 + byte, 0);
const hex = (number: number, digits = 1): string => number.toString(16).padStart(digits, "0");
const secure = (host: string): ((at: Whereabouts) => string) => {
  return ({ targets }) => `${host}:${targets.securePort}`;
};
const spelled = (spell: (address: string) => string): ((at: Whereabouts) => string) => {
  return ({ targets }) => `${spell(targets.bridgeAddress)}:${targets.securePort}`;
};

const directChecks: readonly EgressCheck[] = [
  direct("TCP to a public address", ({ targets }) => [
    { kind: "tcp", host: targets.publicAddress, port: targets.plainPort },
  ]),
  direct("TCP to the host, at its address in the engine's own network", ({ targets }) => [
    { kind: "tcp", host: targets.bridgeAddress, port: targets.plainPort },
  ]),
  direct("TCP to the host, at its other addresses", ({ targets }) =>
    targets.otherAddresses.map((host) => ({ kind: "tcp", host, port: targets.plainPort }) as const),
  ),
  direct("TCP to the first address of its own network", ({ targets, firstAddress }) => [
    { kind: "tcp", host: firstAddress, port: targets.plainPort },
  ]),
  direct("HTTP without the proxy", ({ targets }, word) => [
    {
      kind: "command",
      command: [
        "curl",
        "-s",
        "-m",
        "3",
        "--noproxy",
        "*",
        `http://${targets.publicAddress}:${targets.plainPort}/${word}`,
      ],
    },
  ]),
  direct("UDP to a public address", ({ targets }) => [
    { kind: "udp", host: targets.publicAddress, port: targets.datagramPort },
  ]),
  direct("UDP to the host", ({ targets }) => [
    { kind: "udp", host: targets.bridgeAddress, port: targets.datagramPort },
  ]),
  direct("UDP to the first address of its own network", ({ targets, firstAddress }) => [
    { kind: "udp", host: firstAddress, port: targets.datagramPort },
  ]),
  direct("the system's resolver", (_at, word) => [{ kind: "name", name: `${word}.egress.test` }]),
  ...(["udp", "tcp"] as const).flatMap((transport) => [
    direct(`DNS by ${transport} to a public address`, ({ targets }) => [
      { kind: "dns", transport, host: targets.publicAddress, name: "egress.test" },
    ]),
    direct(`DNS by ${transport} to the host`, ({ targets, firstAddress }) =>
      [targets.bridgeAddress, firstAddress].map(
        (host) => ({ kind: "dns", transport, host, name: "egress.test" }) as const,
      ),
    ),
  ]),
  direct("DNS to the engine's own resolver", () => [
    { kind: "dns", transport: "udp", host: "127.0.0.11", name: "egress.test" },
  ]),
  direct("a ping of a public address", ({ targets }) => [{ kind: "icmp", host: targets.publicAddress }]),
  direct("a ping of the first address of its own network", ({ firstAddress }) => [
    { kind: "icmp", host: firstAddress },
  ]),
  direct("TCP by IPv6", ({ targets }) =>
    [`::ffff:${targets.publicAddress}`, "2001:4860:4860::8888", "fe80::1"].map(
      (host) => ({ kind: "tcp", host, port: targets.plainPort }) as const,
    ),
  ),
  direct("where clouds tell machines about themselves", ({ targets }) =>
    ["169.254.169.254", "169.254.170.2", targets.linkLocalAddress].flatMap((host) => [
      { kind: "tcp", host, port: 80 } as const,
      { kind: "tcp", host, port: targets.plainPort } as const,
    ]),
  ),
  direct("TCP to another worker", ({ neighbour }) =>
    neighbour.addresses.map((host) => ({ kind: "tcp", host, port: neighbour.port }) as const),
  ),
  direct("UDP to another worker", ({ neighbour }) =>
    neighbour.addresses.map((host) => ({ kind: "udp", host, port: neighbour.port }) as const),
  ),
  direct("another worker, by its name", ({ neighbour }) => [
    { kind: "tcp", host: neighbour.name, port: neighbour.port },
  ]),
  direct("the gateway's door, at its address in the engine's own network", (at) => [
    { kind: "tcp", host: at.gatewayAddress, port: at.gatewayPort },
  ]),
  direct("other ports of the gateway, or of whoever is where it would be", (at) => [
    {
      kind: "scan",
      host: at.gatewayBeside ?? "127.0.0.1",
      ports: [
        ...Array.from({ length: 1024 }, (_, index) => index + 1),
        ...[2375, 2376, 3000, 5000, 8000, 8080, 8443, 9229, at.gatewayPort - 1, at.gatewayPort + 1],
        ...[at.targets.plainPort, at.targets.securePort],
      ],
    },
  ]),
];

const tunnelChecks: readonly EgressCheck[] = [
  tunnel("CONNECT to a name that is not allowed", secure("denied.egress.test")),
  tunnel(
    "CONNECT to another port of an allowed name",
    ({ targets }) => `${allowedName}:${targets.otherSecurePort}`,
  ),
  tunnel("CONNECT to a name that goes on behind an allowed one", secure(`${allowedName}.evil.test`)),
  tunnel("CONNECT to a name that ends in an allowed one", secure(`evil-${allowedName}`)),
  tunnel("CONNECT to a name below an allowed one", secure(`evil.${allowedName}`)),
  tunnel("CONNECT to an allowed name with a dot behind it", secure(`${allowedName}.`)),
  tunnel("CONNECT to an allowed name of another domain", secure(allowedName.replace(".test", ".other.test"))),
  tunnel("CONNECT to a public address", ({ targets }) => `${targets.publicAddress}:${targets.securePort}`),
  tunnel("CONNECT to the host's address", spelled(String)),
  tunnel(
    "CONNECT to an address as one number",
    spelled((address) => String(numberOf(address))),
  ),
  tunnel(
    "CONNECT to an address in octal",
    spelled((address) =>
      bytesOf(address)
        .map((byte) => `0${byte.toString(8)}`)
        .join("."),
    ),
  ),
  tunnel(
    "CONNECT to an address in hexadecimal",
    spelled((address) => `0x${hex(numberOf(address))}`),
  ),
  tunnel(
    "CONNECT to an address in hexadecimal bytes",
    spelled((address) =>
      bytesOf(address)
        .map((byte) => `0x${hex(byte)}`)
        .join("."),
    ),
  ),
  tunnel(
    "CONNECT to an address with its last bytes as one number",
    spelled((address) => {
      const [first = 0, second = 0, third = 0, fourth = 0] = bytesOf(address);
      return `${first}.${second}.${third * 256 + fourth}`;
    }),
  ),
  tunnel(
    "CONNECT to an address within one of IPv6",
    spelled((address) => `[::ffff:${address}]`),
  ),
  tunnel(
    "CONNECT to an address within one of IPv6, in hexadecimal",
    spelled((address) => `[::ffff:${hex(numberOf(address) >>> 16)}:${hex(numberOf(address) & 0xffff)}]`),
  ),
  tunnel("CONNECT to localhost", secure("localhost")),
  tunnel("CONNECT to no address at all", secure("0.0.0.0")),
  tunnel("CONNECT to an allowed name that leads into a private network", secure("private.egress.test")),
  tunnel("CONNECT to an allowed name that leads there as well", secure("mixed.egress.test")),
  tunnel("CONNECT to an allowed name that leads to a cloud's metadata", secure("metadata.egress.test")),
  tunnel("CONNECT to an allowed name that leads to the gateway itself", secure("looped.egress.test")),
  {
    name: "TLS for another name than CONNECT's",
    probes: ({ targets }, word) => [
      {
        kind: "tunnel",
        authority: secure(allowedName)({ targets } as Whereabouts),
        within: { serverName: `${word}.egress.test` },
      },
    ],
  },
  {
    name: "TLS for no name",
    probes: (at) => [{ kind: "tunnel", authority: secure(allowedName)(at), within: "no-name" }],
  },
  {
    name: "no TLS, to an allowed name and port",
    probes: ({ targets }) => [
      { kind: "tunnel", authority: `${allowedName}:${targets.plainPort}`, within: "plain" },
    ],
  },
  ...[
    ["GET of a whole address that is not allowed", "denied.egress.test"],
    ["GET of a whole address with an allowed name", allowedName],
  ].map(([name = "", host]) => ({
    name,
    probes: ({ targets }: Whereabouts, word: string) => [
      {
        kind: "raw" as const,
        text: `GET http://${host}:${targets.plainPort}/${word} HTTP/1.1\r\nHost: ${host}:${targets.plainPort}\r\n{auth}Connection: close\r\n\r\n`,
      },
    ],
  })),
  {
    name: "a request behind CONNECT, before it is answered",
    probes: ({ targets }, word) => [
      {
        kind: "raw",
        text: `CONNECT ${allowedName}:${targets.plainPort} HTTP/1.1\r\nHost: x\r\n{auth}\r\nGET /${word} HTTP/1.1\r\nHost: x\r\n\r\n`,
      },
    ],
  },
  {
    name: "a line break within CONNECT",
    probes: ({ targets }, word) =>
      ["\r\n", "\n", "\r", "\0", "\t", " "].map((gap) => ({
        kind: "raw",
        text: `CONNECT denied.egress.test:${targets.plainPort}${gap}${allowedName}:${targets.plainPort} HTTP/1.1\r\nHost: ${allowedName}\r\n{auth}\r\nGET /${word} HTTP/1.1\r\n\r\n`,
      })),
  },
  {
    name: "curl, which asks the proxy for a name that is not allowed",
    probes: ({ targets }, word) => [
      {
        kind: "command",
        command: ["curl", "-sk", "-m", "5", `https://denied.egress.test:${targets.securePort}/${word}`],
      },
    ],
  },
  ...[
    ["CONNECT with a token that nobody has", () => "A".repeat(43)],
    ["CONNECT without a token", () => ""],
    ["CONNECT with another worker's token, or nearly so", (at: Whereabouts) => at.neighbour.token],
  ].map(([name, token]) => ({
    name: name as string,
    probes: (at: Whereabouts) => [
      {
        kind: "tunnel" as const,
        authority: secure(allowedName)(at),
        token: (token as (at: Whereabouts) => string)(at),
        within: tls,
      },
    ],
  })),
];

const otherChecks: readonly EgressCheck[] = [
  ...[
    ["a call of a model with a token that nobody has", () => "A".repeat(43)],
    ["a call of a model without a token", () => ""],
    ["a call of a model with another worker's token, or nearly so", (at: Whereabouts) => at.neighbour.token],
  ].map(([name, token]) => ({
    name: name as string,
    probes: (at: Whereabouts, word: string) => [
      { kind: "model" as const, path: `/${word}`, token: (token as (at: Whereabouts) => string)(at) },
    ],
  })),
  ...(
    [
      ["a registry that sends its visitors to something without TLS", "plain"],
      ["a registry that sends its visitors to a private address", "private"],
      ["a registry that sends its visitors to a name with a private address", "name"],
      ["a registry that sends its visitors to a cloud's metadata", "metadata"],
    ] as const
  ).map(([name, where]) => ({
    name,
    probes: (_at: Whereabouts, word: string) => [{ kind: "mirror" as const, path: `/at/${where}/${word}` }],
  })),
];

/** Ways out of a sandbox that lead past what its gateway allows: none may be one. */
export const egressChecks: readonly EgressCheck[] = [...directChecks, ...tunnelChecks, ...otherChecks];

export const changesOfDoor = "a change in the folder of the door";

/** What lies within the sandbox itself: by it nothing gets out, but whoever had it could get at others. */
export const placeChecks: Readonly<Record<string, readonly Probe[]>> = {
  "the gateway's journal and its control socket": [
    {
      kind: "files",
      paths: ["/gw/journal.ndjson", "/gw/control.sock", "/door/journal.ndjson", "/door/control.sock"],
    },
    { kind: "unix", path: "/gw/control.sock" },
    { kind: "unix", path: "/door/control.sock" },
  ],
  "the socket of the engine": [
    "/var/run/docker.sock",
    "/run/docker.sock",
    "/run/containerd/containerd.sock",
  ].map((path) => ({ kind: "unix", path })),
  [changesOfDoor]: [{ kind: "change", folder: "/door", file: "door.sock" }],
};
