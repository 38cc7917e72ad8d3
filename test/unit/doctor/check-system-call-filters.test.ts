import { expect, test } from "vitest";
import { checkSystemCallFilters } from "../../../src/doctor/check-system-call-filters.ts";

const docker = { architecture: "x86_64", profile: "default", isPodman: false };
const [strict, wide] = [{ programs32Bit: false }, { programs32Bit: true }];

test.each([
  ["Docker", docker, strict, "good", null],
  ["32-bit programs", docker, wide, "weak", /programs32Bit to false/],
  ["Podman", { ...docker, isPodman: true }, strict, "weak", /Use Docker/],
  ["Podman, where the setting opens nothing", { ...docker, isPodman: true }, wide, "weak", /Use Docker/],
  ["an administrator's own", { ...docker, profile: "/etc/strict.json" }, strict, "good", null],
  ["no filter at all", { ...docker, profile: null }, strict, "weak", /Use Docker/],
] as const)("doctor judges the filters of %s", (_what, filter, setting, state, fix) => {
  const found = checkSystemCallFilters({ filter, runtimes: ["runsc", "runc"] }, setting);

  expect(found).toMatchObject({ subject: "system calls", state });
  if (fix === null) expect(found.fix).toBeNull();
  else expect(found.fix).toMatch(fix);
});

test("doctor says it of each runtime, and of builds", () => {
  expect(checkSystemCallFilters({ filter: docker, runtimes: ["runsc", "runc"] }, wide).fact).toBe(
    [
      "runsc: the engine's own filter: swarm's own filter works only with runc and crun",
      "runc: swarm's own filter, with sockets of every address family allowed for 32-bit programs",
      "image builds: the engine's own filter",
    ].join("; "),
  );
});
