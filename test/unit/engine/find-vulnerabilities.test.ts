import { describe, expect, test } from "vitest";
import { checkEngineComponentVersions } from "../../../src/doctor/check-component-versions.ts";
import { findKnownVulnerabilitiesOfComponent } from "../../../src/engine/rules/find-vulnerabilities.ts";
import { knownVulnerabilities } from "../../../src/engine/rules/known-vulnerabilities.ts";
import { compareDebianVersions } from "../../../src/text/debian-version.ts";

const [leak, links, device] = ["CVE-2024-21626", "CVE-2025-31133", "CVE-2026-41579"];

test.each<[version: string, open: readonly (string | undefined)[]]>([
  ["1.1.5", [leak, links, device]],
  ["1.1.11", [leak, links, device]],
  ["1.1.12", [links, device]],
  // Debian 12's, without and with the repair that its changelog names.
  ["1.1.5+ds1-1", [leak, links, device]],
  ["1.1.5+ds1-1+b2", [leak, links, device]],
  ["1.1.5+ds1-1+deb12u1", [links, device]],
  ["1.1.5+ds1-1+deb12u10", [links, device]],
  ["1.1.5+ds1", [leak, links, device]],
  ["1.2.7", [links, device]],
  ["1.2.8", [device]],
  ["1.3.2", [links, device]],
  ["1.3.3-0ubuntu1~24.04.2", [device]],
  ["1.3.6", []],
  ["1.4.0-rc.2", [links, device]],
  ["1.4.0-rc.3", [device]],
  ["1.4.0", [device]],
  ["1.4.3", []],
  ["1.5.0-rc.2", [device]],
  ["1.5.0-rc.3", []],
  ["1.5.0", []],
  ["1.12.0", []],
  ["2.0.0", []],
])("runc %s has these holes open: %j", (version, open) => {
  expect(findKnownVulnerabilitiesOfComponent({ name: "runc", version }).map(({ ids }) => ids[0])).toEqual(
    open,
  );
});

test.each([
  ["20.10.24+dfsg1", 1],
  ["29.4.1", 1],
  ["29.4.2", 0],
  ["29.10.0", 0],
  ["30.0.0", 0],
])("Docker %s has %i", (version, count) => {
  expect(findKnownVulnerabilitiesOfComponent({ name: "Docker", version })).toHaveLength(count);
});

test("of a part that is not listed nothing is said", () => {
  expect(findKnownVulnerabilitiesOfComponent({ name: "docker-init", version: "0.1" })).toEqual([]);
});

describe("versions are ordered as Debian's tools order them", () => {
  test.each([
    ["1.0", "1.1"],
    ["1.9", "1.10"],
    ["1.0~rc1", "1.0"],
    ["1.4.0-rc.3", "1.4.0"],
    ["1.0", "1.0+ds1"],
    ["1.0-1", "1.0-1+b1"],
    ["1.0-1+b2", "1.0-1+deb12u1"],
    ["1.0-1+deb12u2", "1.0-1+deb12u10"],
  ])("%s comes before %s", (earlier, later) => {
    expect(compareDebianVersions(earlier, later)).toBeLessThan(0);
    expect(compareDebianVersions(later, earlier)).toBeGreaterThan(0);
    expect(compareDebianVersions(later, later)).toBe(0);
  });
});

test("the list names its holes once, and its lines from the oldest on", () => {
  const ids = knownVulnerabilities.flatMap(({ part, ids: own }) => own.map((id) => `${part} ${id}`));

  expect(new Set(ids).size).toBe(ids.length);
  for (const { fixedIn } of knownVulnerabilities)
    expect([...fixedIn].sort(compareDebianVersions)).toEqual(fixedIn);
});

test("doctor names what is older, what is safe, and what it is not told", () => {
  const found = checkEngineComponentVersions(
    [{ name: "runc", version: "1.1.5+ds1-1+deb12u1" }],
    ["runc", "runsc"],
  );

  expect(found).toMatchObject({ subject: "versions", state: "weak" });
  expect(found.fact).toMatch(
    /^runc 1\.1\.5\+ds1-1\+deb12u1; the engine does not report the version of runsc; runc is older than 1\.2\.8, 1\.3\.3, 1\.4\.0-rc\.3: CVE-2025-31133, CVE-2025-52565, CVE-2025-52881/,
  );
  expect(found.fact).not.toContain("CVE-2024-21626");
  expect(checkEngineComponentVersions([{ name: "runc", version: "1.5.0" }], ["runc"])).toMatchObject({
    state: "good",
    fix: null,
  });
  expect(checkEngineComponentVersions([], []).fact).toBe(
    "the engine does not report the versions of its components",
  );
});
