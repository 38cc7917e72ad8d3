import type { AllowedHost } from "../contract/gateway.ts";

/** What a preset, a single word such as `npm`, allows an agent to reach, with a description for users. */
export interface EgressPreset {
  readonly description: string;
  /**
   * Hosts that agents may reach through encrypted connections, which the gateway passes on without
   * decrypting them. None of these hosts accepts uploads.
   */
  readonly hosts: readonly AllowedHost[];
  /**
   * The name of the registry that agents may read through the gateway, which forwards only reading requests.
   */
  readonly mirror?: string;
}

export interface ParsedAllowList {
  readonly hosts: readonly AllowedHost[];
  readonly mirrors: readonly string[];
  readonly problems: readonly AllowProblem[];
}

interface AllowProblem {
  readonly word: string;
  readonly problem: string;
}

const defaultPort = 443;
const maxHostLength = 253;

/**
 * The presets by name. A preset is a single word that allows the hosts and the registry that many tasks
 * need.
 */
export const egressPresets: Readonly<Record<string, EgressPreset>> = {
  npm: { description: "packages of npm, read only", hosts: [], mirror: "npm" },
  pypi: {
    description: "packages of Python",
    hosts: secure("pypi.org", "files.pythonhosted.org"),
  },
  crates: {
    description: "crates of Rust",
    hosts: secure("index.crates.io", "static.crates.io"),
  },
  go: { description: "Go modules that proxy.golang.org already has, read only", hosts: [], mirror: "go" },
  maven: {
    description: "artifacts of Maven Central",
    hosts: secure("repo.maven.apache.org", "repo1.maven.org"),
  },
  debian: {
    description: "Debian packages, from APT sources with https",
    hosts: secure("deb.debian.org", "security.debian.org"),
  },
  github: {
    description: "cloning, fetching and downloading from GitHub, but no pushing",
    hosts: secure(
      "codeload.github.com",
      "raw.githubusercontent.com",
      "objects.githubusercontent.com",
      "release-assets.githubusercontent.com",
    ),
    mirror: "github",
  },
};

/**
 * The default URL of each registry that the gateway offers to agents. The user's settings can set other
 * URLs.
 */
export const defaultRegistryUrls: Readonly<Record<string, string>> = {
  npm: "https://registry.npmjs.org",
  go: "https://proxy.golang.org",
  github: "https://github.com",
};

/**
 * Parses the words in the flag `--allow` or in the setting `allow`. Each word names a preset, or otherwise a
 * host with an optional port.
 */
export function parseAllowList(words: readonly string[]): ParsedAllowList {
  const hosts = new Map<string, AllowedHost>();
  const mirrors = new Set<string>();
  const problems: AllowProblem[] = [];
  for (const word of words) {
    const preset = Object.hasOwn(egressPresets, word) ? egressPresets[word] : undefined;
    const opened = preset ?? parseHost(word);
    if (typeof opened === "string") {
      problems.push({ word, problem: opened });
      continue;
    }
    const added = "hosts" in opened ? opened.hosts : [opened];
    for (const host of added) hosts.set(`${host.host}:${host.port}`, host);
    if (preset?.mirror) mirrors.add(preset.mirror);
  }
  return { hosts: [...hosts.values()], mirrors: [...mirrors], problems };
}

/**
 * Parses a host name with an optional port; returns a description of the problem if the word is invalid. IP
 * addresses are refused: they do not identify a server, and have more spellings than the gateway could
 * recognise.
 */
function parseHost(word: string): AllowedHost | string {
  // This check must come before `toLowerCase`, which turns the Kelvin sign (U+212A) into a `k`.
  if (/[^\x21-\x7e]/.test(word)) return "has characters that a host name cannot contain";
  if (/[/@?#\\]/.test(word)) return "has a scheme, a user or a path: write only host:port";
  if (word.includes("*")) return "has a wildcard: list each host instead";
  if (/[[\]]/.test(word) || word.split(":").length > 2)
    return "is an IP address: write the host's name instead";

  const [name = "", port] = word.toLowerCase().split(":");
  if (port !== undefined && !isPort(port)) return "has a port that is not a number from 1 to 65535";
  if (name.endsWith(".")) return "ends with a dot";
  const labels = name.split(".");
  // Some parsers read a name as an IP address if its last label begins with a digit: 127.1, 0x7f.1, 1.0x7f, 2130706433.
  if (/^\d/.test(labels.at(-1) ?? "")) return "is an IP address or a number: write the host's name instead";
  if (labels.length < 2)
    return `is neither a preset (${Object.keys(egressPresets).join(", ")}) nor a full host name`;
  if (name.length > maxHostLength || !labels.every(isLabel)) return "is not a valid host name";
  return { host: name, port: port === undefined ? defaultPort : Number(port) };
}

function isPort(text: string): boolean {
  return /^[1-9]\d{0,4}$/.test(text) && Number(text) <= 65_535;
}

function isLabel(label: string): boolean {
  return /^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/.test(label);
}

function secure(...hosts: readonly string[]): AllowedHost[] {
  return hosts.map((host) => ({ host, port: defaultPort }));
}
