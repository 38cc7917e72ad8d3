import { fileURLToPath } from "node:url";
import { defineConfig, type TestUserConfig, type ViteUserConfig } from "vitest/config";
import { SlowestFirst } from "./slowest-first.ts";

const minute = 60_000;

/** These tests restart, freeze or fill the shared engine, count everything that it has, or measure the machine. */
const alone = [
  "base-image",
  "bombs",
  "engine-restarts",
  "exec-flood",
  "pauses",
  "private-engine",
  "project-images",
  "sandbox-crash",
  "sandbox-outputs",
  "stuck-container",
  "swarm-auto",
  "swarm-bombs",
].map((name) => `test/engine/**/${name}.test.ts`);

const onEngine: TestUserConfig = {
  globalSetup: ["test/engine/shared-engine.ts"],
  setupFiles: ["test/engine/await-image.ts"],
  testTimeout: 5 * minute,
  hookTimeout: 5 * minute,
};

/** Kinds of tests, by what they need. By itself vitest would use one worker less than the machine has cores. */
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
          maxWorkers: 2,
          sequence: { groupOrder: 0 },
        },
      },
      {
        test: {
          name: "contract",
          include: ["test/contract/**/*.test.ts"],
          testTimeout: minute,
          hookTimeout: minute,
          maxWorkers: 2,
          sequence: { groupOrder: 1 },
        },
      },
      {
        test: {
          name: "crash",
          include: ["test/crash/**/*.test.ts"],
          testTimeout: 10 * minute,
          maxWorkers: 2,
          sequence: { groupOrder: 1 },
        },
      },
      {
        test: {
          ...{ name: "alone", include: alone, ...onEngine },
          fileParallelism: false,
          sequence: { groupOrder: 2 },
        },
      },
      {
        test: {
          // Each has repositories and containers of its own, or an engine of its own.
          ...{ name: "beside", include: ["test/engine/**/*.test.ts"], exclude: alone, ...onEngine },
          maxWorkers: 3,
          sequence: { groupOrder: 3 },
        },
      },
      {
        // Last, for the base image has agents in it afterwards.
        test: {
          ...{ name: "agents", include: ["test/agents/**/*.test.ts"], ...onEngine },
          testTimeout: 10 * minute,
          hookTimeout: 10 * minute,
          maxWorkers: 2,
          sequence: { groupOrder: 4 },
        },
      },
      {
        test: {
          name: "sysbox",
          include: ["test/sysbox/**/*.test.ts"],
          testTimeout: 5 * minute,
          fileParallelism: false,
          sequence: { groupOrder: 2 },
        },
      },
    ],
  },
});

export default config;
