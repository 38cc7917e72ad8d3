import { fileURLToPath } from "node:url";
import { defineConfig, type TestUserConfig, type ViteUserConfig } from "vitest/config";
import { SlowestFirst } from "./slowest-first.ts";

const minute = 60_000;

/** They wait for a container, a clock or a network more than they work. */
const beside = { maxWorkers: 6, sequence: { groupOrder: 1 } };
/** What they measure is the machine's. */
const alone = { fileParallelism: false, sequence: { groupOrder: 2 } };
const aloneOnEngine = ["test/engine/swarm-bombs.test.ts", "test/engine/bombs.test.ts"];

const onEngine: TestUserConfig = {
  globalSetup: ["test/engine/shared-engine.ts"],
  setupFiles: ["test/engine/await-image.ts"],
  testTimeout: 5 * minute,
  hookTimeout: 5 * minute,
};

/** Kinds of tests, by what they need. */
const config: ViteUserConfig = defineConfig({
  root: fileURLToPath(new URL("..", import.meta.url)),
  test: {
    passWithNoTests: true,
    sequence: { sequencer: SlowestFirst },
    projects: [
      {
        test: {
          name: "unit",
          include: ["test/unit/**/*.test.ts", "test/architecture.test.ts"],
          // They take milliseconds, and seconds on a machine that is busy with other things.
          testTimeout: minute,
          isolate: false,
          sequence: { groupOrder: 0 },
        },
      },
      {
        test: {
          name: "contract",
          include: ["test/contract/**/*.test.ts"],
          testTimeout: minute,
          hookTimeout: minute,
          sequence: { groupOrder: 0 },
        },
      },
      {
        test: {
          name: "crash",
          include: ["test/crash/**/*.test.ts"],
          testTimeout: 10 * minute,
          ...beside,
        },
      },
      {
        test: {
          name: "engine",
          include: ["test/engine/**/*.test.ts"],
          exclude: aloneOnEngine,
          ...onEngine,
          ...beside,
        },
      },
      { test: { name: "alone", include: aloneOnEngine, ...onEngine, ...alone } },
      {
        test: {
          name: "agents",
          include: ["test/agents/**/*.test.ts"],
          ...onEngine,
          testTimeout: 10 * minute,
          hookTimeout: 10 * minute,
          ...beside,
        },
      },
      {
        test: {
          name: "sysbox",
          include: ["test/sysbox/**/*.test.ts"],
          testTimeout: 5 * minute,
          ...alone,
        },
      },
    ],
  },
});

export default config;
