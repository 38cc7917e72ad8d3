import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { afterEach, describe, expect, inject } from "vitest";
import { labels } from "../../../src/engine/engine.ts";
import { swarmProgram } from "../../fakes/cli/swarm-command.ts";
import { openEngine } from "../../fakes/engine/engine-at.ts";
import { test } from "../../fakes/folders.ts";
import { write } from "../../fakes/git/repository.ts";
import { destroyUsed, listed, placeOf, sandbox } from "../../fakes/sandbox/sandbox-command.ts";

const engine = openEngine(inject("endpoint"));

afterEach(destroyUsed);

async function onEngine(): Promise<string[]> {
  const { volumes } = await engine.open();
  const { default: Docker } = await import("dockerode");
  const docker = new Docker({ socketPath: inject("endpoint").replace("unix://", "") });
  const containers = await docker.listContainers({
    all: true,
    filters: JSON.stringify({ label: [`${labels.role}=sandbox`] }),
  });
  return [...containers.map(({ Id }) => Id), ...(await volumes.list({ [labels.role]: "sandbox" }))];
}

describe("kill -9 while a sandbox is made", () => {
  // Each word is the last one that the command says before it is killed: at once, or when so much more has happened.
  const moments: readonly (readonly [
    line: string,
    then: "at once" | "when the record is there" | "when the container is there",
  ])[] = [
    ["Checking", "at once"],
    ["Creating", "at once"],
    ["Creating", "when the record is there"],
    ["Creating", "when the container is there"],
  ];

  test.for(moments)("after %s, %s: it is whole or it is nothing", async ([line, then], { folder }) => {
    write(folder, "sandbox.yaml", "readOnlyRoot: true\ninputs: [sandbox.yaml]\n");
    const child = spawn(swarmProgram, ["sandbox", "up", "--progress", "plain"], placeOf(folder));
    const exited = once(child, "exit");
    let said = "";
    for await (const text of child.stderr) {
      said += String(text);
      if (said.includes(line)) break;
    }
    const place = join(folder, ".aimi", "sandboxes");
    const isReady = async (): Promise<boolean> => {
      if (then === "at once" || child.exitCode !== null) return true;
      if (then === "when the record is there") return existsSync(place) && readdirSync(place).length > 1;
      return (await onEngine()).length >= 5;
    };
    while (!(await isReady())) await new Promise(setImmediate);
    child.kill("SIGKILL");
    await exited;

    const records = await listed(folder);

    for (const { status, reason, container } of records) {
      if (status === "created") expect(container).not.toBeNull();
      else expect({ status, code: reason?.code }).toEqual({ status: "failed", code: "CREATION_INTERRUPTED" });
    }
    if (records.some(({ status }) => status === "created")) {
      expect((await sandbox(folder, "exec", "--", "cat", "/inputs/sandbox.yaml")).stdout).toContain(
        "readOnlyRoot",
      );
    }
    expect((await sandbox(folder, "destroy", "--all", "--purge")).exit).toBe(0);
    expect(await onEngine()).toEqual([]);
  });
});
