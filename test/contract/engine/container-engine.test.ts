import { describe } from "vitest";
import { containerEngineSuite } from "../../fakes/engine/container-engine-suite.ts";
import { fakeEngine } from "../../fakes/engine/fake-engine.ts";

describe("the fake engine", () => {
  containerEngineSuite(async () => {
    const engine = fakeEngine();
    return {
      engine,
      silent: fakeEngine({ answers: false }),
      async put(name, labels) {
        engine.containers.push({ name, containerId: "a".repeat(64), state: "created", labels });
        engine.volumesByName.set(name, labels);
      },
      async remove(name) {
        engine.containers.splice(
          engine.containers.findIndex((container) => container.name === name),
          1,
        );
        engine.volumesByName.delete(name);
      },
    };
  });
});
