import { expect, test } from "vitest";
import { suggestNextSandboxCommand } from "../../../../src/cli/render/suggest-sandbox-command.ts";

type Listed = Parameters<typeof suggestNextSandboxCommand>[0][number];

const sandbox = (id: string, change: Partial<Listed> = {}): Listed => ({
  ...{ id, status: "running", reason: null, execution: null },
  container: { id: "c", image: "i" },
  ...change,
});
const busy = { execution: "0123456789abcdef" };
const taskFailed = { status: "failed", reason: null } as const;
const ended = { status: "failed", reason: { code: "CONTAINER_ENDED", message: "" } } as const;
const [run, up] = ["`swarm sandbox run FILE`", "`swarm sandbox up`"];
const another = (id: string): string =>
  `\`swarm sandbox up\` creates a new sandbox; \`swarm sandbox destroy ${id}\` removes the latest sandbox from the engine`;

test.each<readonly [string, readonly Listed[], string]>([
  ["without any", [], up],
  ["with destroyed ones alone", [sandbox("a", { status: "destroyed" })], up],
  ["made and not used yet", [sandbox("a", { status: "created" })], run],
  ["alive", [sandbox("a")], run],
  ["alive after a task", [sandbox("a", { status: "completed" })], run],
  ["alive after a task that failed", [sandbox("a", taskFailed)], run],
  [
    "alive, with a task that runs",
    [sandbox("a", busy)],
    "`swarm sandbox logs -f a` shows the output of the running task",
  ],
  ["ended", [sandbox("a", ended)], another("a")],
  ["ended by its time to live", [sandbox("a", { status: "timeout" })], another("a")],
  [
    "being made",
    [sandbox("a", { status: "created", container: null })],
    "run `swarm sandbox ls` again: a sandbox is being created",
  ],
  ["alive behind a busy one", [sandbox("a", busy), sandbox("b")], "`swarm sandbox run --sandbox b FILE`"],
  ["alive behind an ended one", [sandbox("a", ended), sandbox("b")], "`swarm sandbox run --sandbox b FILE`"],
  ["alive behind a destroyed one", [sandbox("a", { status: "destroyed" }), sandbox("b")], run],
  [
    "busy behind an ended one",
    [sandbox("a", ended), sandbox("b", busy)],
    "`swarm sandbox logs -f b` shows the output of the running task",
  ],
])("the next step for a sandbox %s", (_what, records, step) => {
  expect(suggestNextSandboxCommand(records)).toBe(step);
});
