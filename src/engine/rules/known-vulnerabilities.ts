/**
 * A published vulnerability of a component of the container engine, and the versions that fix the
 * vulnerability.
 */
export interface KnownVulnerability {
  readonly part: "Docker" | "runc";
  readonly ids: readonly string[];
  /**
   * The first fixed version of each release line (such as 1.2.x), oldest line first. Release lines newer than
   * all of these contain the fix; release lines older than all of these do not.
   */
  readonly fixedIn: readonly string[];
  /** The versions of Debian packages that contain a backport of the fix. */
  readonly packages: readonly string[];
  readonly what: string;
}

/**
 * Known vulnerabilities of components whose version `swarm doctor` can determine. Sources: the components'
 * release notes, and the changelogs of Debian's packages.
 */
export const knownVulnerabilities: readonly KnownVulnerability[] = [
  {
    part: "runc",
    ids: ["CVE-2024-21626"],
    fixedIn: ["1.1.12"],
    packages: ["1.1.5+ds1-1+deb12u1"],
    what: "a container can escape if its working folder refers to a file descriptor of the host",
  },
  {
    part: "runc",
    ids: ["CVE-2025-31133", "CVE-2025-52565", "CVE-2025-52881"],
    fixedIn: ["1.2.8", "1.3.3", "1.4.0-rc.3"],
    packages: [],
    what: "a container can escape if symbolic links replace mount paths while runc creates the container",
  },
  {
    part: "runc",
    ids: ["CVE-2026-41579"],
    fixedIn: ["1.3.6", "1.4.3", "1.5.0-rc.3"],
    packages: [],
    what: "runc writes links outside the container if the image's /dev is a link",
  },
  {
    part: "Docker",
    ids: ["CVE-2026-31431"],
    fixedIn: ["29.4.2"],
    packages: [],
    what: "Docker's default seccomp filter, which also applies to builds, allows AF_ALG sockets",
  },
];
