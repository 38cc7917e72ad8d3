import { fileURLToPath } from "node:url";
import { defineConfig, type ViteUserConfig } from "vitest/config";

const minute = 60_000;

/** They wait more than they work, and so go three at a time. */
const adapterTests = [
  "test/engine/adapter*.test.ts",
  "test/engine/conversation.test.ts",
  "test/engine/new-agent.test.ts",
];

/** Swarms and sandboxes of a repository of their own: none meets another. Bombs go alone: what they leave of the machine is measured. */
const swarmTests = [
  ...["swarm-!(bombs)", "gateway-*", "watch-commands", "agent-shell", "cleanup"],
  ...["sandbox-commands", "sandbox-endings", "sandbox-outputs"],
].map((name) => `test/engine/${name}.test.ts`);

/** Kinds of tests, from milliseconds to minutes. Those that stress the machine run one file after another, alone. */
const config: ViteUserConfig = defineConfig({
  root: fileURLToPath(new URL("..", import.meta.url)),
  test: {
    passWithNoTests: true,
    projects: [
      {
        test: {
          name: "unit",
          include: ["test/unit/**/*.test.ts", "test/architecture.test.ts"],
          // They take milliseconds, and seconds on a machine that is busy with other things.
          testTimeout: minute,
          sequence: { groupOrder: 0 },
        },
      },
      {
        test: {
          name: "contract",
          include: ["test/contract/**/*.test.ts"],
          testTimeout: minute,
          hookTimeout: minute,
          sequence: { groupOrder: 1 },
        },
      },
      {
        test: {
          name: "crash",
          include: ["test/crash/**/*.test.ts"],
          testTimeout: 10 * minute,
          fileParallelism: false,
          sequence: { groupOrder: 2 },
        },
      },
      {
        test: {
          name: "engine",
          include: ["test/engine/**/*.test.ts"],
          exclude: [...adapterTests, ...swarmTests],
          globalSetup: ["test/engine/shared-engine.ts"],
          testTimeout: 5 * minute,
          hookTimeout: 5 * minute,
          fileParallelism: false,
          sequence: { groupOrder: 3 },
        },
      },
      {
        test: {
          name: "adapter",
          include: adapterTests,
          globalSetup: ["test/engine/shared-engine.ts"],
          testTimeout: 5 * minute,
          hookTimeout: 5 * minute,
          maxWorkers: 3,
          sequence: { groupOrder: 4 },
        },
      },
      {
        test: {
          name: "swarm",
          include: swarmTests,
          globalSetup: ["test/engine/shared-engine.ts"],
          testTimeout: 5 * minute,
          hookTimeout: 5 * minute,
          maxWorkers: 3,
          sequence: { groupOrder: 4 },
        },
      },
      {
        test: {
          name: "agents",
          include: ["test/agents/**/*.test.ts"],
          globalSetup: ["test/engine/shared-engine.ts"],
          testTimeout: 10 * minute,
          hookTimeout: 10 * minute,
          maxWorkers: 2,
          sequence: { groupOrder: 5 },
        },
      },
      {
        test: {
          name: "sysbox",
          include: ["test/sysbox/**/*.test.ts"],
          testTimeout: 5 * minute,
          fileParallelism: false,
          sequence: { groupOrder: 5 },
        },
      },
    ],
  },
});

export default config;
