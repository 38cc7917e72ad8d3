import { join } from "node:path";
import { describe, inject } from "vitest";
import { baseImage } from "../../../src/engine/rules/base-image.ts";
import { containersSuite } from "../../fakes/engine/containers-suite.ts";
import { openEngine } from "../../fakes/engine/engine-at.ts";

const endpoint = inject("endpoint");
const engine = openEngine(endpoint);
const silent = openEngine(`unix://${join(inject("stateFolder"), "nobody.sock")}`);
const { runtimes } = await engine.info();

/** What a runtime of this machine does not do; each is printed as skipped, with the reason. */
const unsupportedBy: Readonly<Record<string, readonly string[]>> = { runc: [], runsc: [] };

for (const runtime of ["runc", "runsc"]) {
  describe.skipIf(!runtimes.includes(runtime))(`containers of ${runtime}`, () => {
    containersSuite(async () => ({
      ...{ engine, silent, image: baseImage, runtime, unsupported: unsupportedBy[runtime] ?? [] },
    }));
  });
}
