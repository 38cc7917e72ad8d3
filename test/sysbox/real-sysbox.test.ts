import { describe, expect } from "vitest";
import { judgeRuntimeIsolation } from "../../src/engine/rules/isolation.ts";
import { openEngine } from "../fakes/engine/engine-at.ts";
import { test } from "../fakes/folders.ts";

/** For people who have it: `npm run test:sysbox` measures the engine that DOCKER_HOST or the default socket names. */
describe("a real sysbox-runc", () => {
  test("is measured as userns and found to be what its name says", async () => {
    const endpoint = process.env["DOCKER_HOST"] ?? "unix:///var/run/docker.sock";
    const engine = openEngine(endpoint);
    const { kernel, runtimes } = await engine.info();
    expect(runtimes, "the engine has no runtime called sysbox-runc").toContain("sysbox-runc");

    const measured = judgeRuntimeIsolation("sysbox-runc", await engine.probe("sysbox-runc"), kernel);

    expect(measured).toMatchObject({ level: "userns", falseName: null, unusable: [] });
  });
});
