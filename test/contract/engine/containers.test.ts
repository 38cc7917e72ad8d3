import { describe } from "vitest";
import { containersSuite } from "../../fakes/engine/containers-suite.ts";
import { fakeEngine } from "../../fakes/engine/fake-engine.ts";

describe("containers in memory", () => {
  const engine = fakeEngine();
  containersSuite(async () => ({
    ...{ engine, silent: fakeEngine({ answers: false }), image: "fake", runtime: "runc", unsupported: [] },
  }));
});
