import { spawnSync } from "node:child_process";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect } from "vitest";
import { parse } from "yaml";
import { swarm } from "../fakes/cli/swarm-command.ts";
import { test } from "../fakes/folders.ts";

const page = readFileSync(fileURLToPath(new URL("../../docs/nightly.md", import.meta.url)), "utf8");
const block = (language: string): string =>
  new RegExp(`^\`\`\`${language}\n([\\s\\S]*?)^\`\`\``, "m").exec(page)?.[1] ?? "";

const hasSystemd = spawnSync("systemd-analyze", ["--version"]).status === 0;

/** The units of the page in a home where they find what they name, as systemd itself sees them. */
function verified(folder: string, change: (unit: string) => string): { exit: number | null; said: string } {
  const [, ...parts] = block("ini").split(/^# (\S+)\n/m);
  const files: string[] = [];
  for (let at = 0; at + 1 < parts.length; at += 2) {
    const file = join(folder, "units", parts[at] ?? "");
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, change(parts[at + 1] ?? ""));
    files.push(file);
  }
  const program = join(folder, "path/to/swarm/bin/swarm");
  mkdirSync(dirname(program), { recursive: true });
  mkdirSync(join(folder, "your/repository"), { recursive: true });
  writeFileSync(program, "#!/bin/sh\n", { mode: 0o755 });
  const { status, stderr } = spawnSync("systemd-analyze", ["verify", "--user", "--man=no", ...files], {
    env: {
      ...process.env,
      ...{ HOME: folder, XDG_RUNTIME_DIR: folder, SYSTEMD_UNIT_PATH: `${join(folder, "units")}:` },
    },
    encoding: "utf8",
  });
  return { exit: status, said: stderr };
}

describe("the recipes for nights", () => {
  test.skipIf(!hasSystemd)("are units that systemd takes", ({ folder }) => {
    expect(verified(folder, (unit) => unit)).toEqual({ exit: 0, said: "" });
    // Otherwise it would take anything.
    expect(verified(folder, (unit) => unit.replace("bin/swarm", "bin/swam")).exit).toBe(1);
  });

  test("are a workflow whose swarm lines are commands", async ({ repository, folder }) => {
    const workflow = parse(block("yaml")) as {
      jobs: { night: { steps: { run?: string }[] } };
    };
    const lines = workflow.jobs.night.steps.flatMap(({ run }) => (run?.startsWith("swarm ") ? [run] : []));

    expect(lines).toHaveLength(1);
    for (const line of lines) {
      const env = {
        HOME: folder,
        SWARM_STATE_DIR: join(folder, "state"),
        DOCKER_HOST: `unix://${folder}/no`,
      };
      const { stderr } = await swarm({ folder: repository, env }, ...line.split(" ").slice(1));
      expect(stderr).not.toMatch(/error (USAGE|BUG|INVALID_VALUE)/);
    }
  });
});
