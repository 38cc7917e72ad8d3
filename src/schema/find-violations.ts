import type { ValidateFunction } from "ajv";

/** A violation of a schema, in words for users. */
export interface Violation {
  readonly pointer: string;
  readonly problem: string;
  readonly hint: string;
}

export type SchemaName =
  | "acp"
  | "cleanup"
  | "config"
  | "doctor"
  | "error"
  | "event"
  | "merge"
  | "notice"
  | "plan"
  | "probe"
  | "proof"
  | "sandbox"
  | "sandbox-options"
  | "sandbox-run"
  | "sandbox-summary"
  | "script-agent"
  | "status"
  | "summary"
  | "swarm-state"
  | "tasks"
  | "work-diff";

const validators: Readonly<Record<SchemaName, () => Promise<{ default: ValidateFunction }>>> = {
  acp: () => import("./generated/acp.js"),
  cleanup: () => import("./generated/cleanup.js"),
  config: () => import("./generated/config.js"),
  doctor: () => import("./generated/doctor.js"),
  error: () => import("./generated/error.js"),
  event: () => import("./generated/event.js"),
  merge: () => import("./generated/merge.js"),
  notice: () => import("./generated/notice.js"),
  plan: () => import("./generated/plan.js"),
  probe: () => import("./generated/probe.js"),
  proof: () => import("./generated/proof.js"),
  sandbox: () => import("./generated/sandbox.js"),
  "sandbox-options": () => import("./generated/sandbox-options.js"),
  "sandbox-run": () => import("./generated/sandbox-run.js"),
  "sandbox-summary": () => import("./generated/sandbox-summary.js"),
  "script-agent": () => import("./generated/script-agent.js"),
  status: () => import("./generated/status.js"),
  summary: () => import("./generated/summary.js"),
  "swarm-state": () => import("./generated/swarm-state.js"),
  tasks: () => import("./generated/tasks.js"),
  "work-diff": () => import("./generated/work-diff.js"),
};

/** Finds all violations of `schemas/<name>.schema.json`. Returns an empty array if the value is valid. */
export async function findViolations(name: SchemaName, value: unknown): Promise<Violation[]> {
  const { default: validate } = await validators[name]();
  if (validate(value)) return [];
  const errors = validate.errors ?? [];
  // For `anyOf`, the validator reports errors of every alternative. Only the error that sums them up helps a
  // user.
  const choices = new Set(
    errors.filter(({ keyword }) => keyword === "anyOf").map(({ instancePath }) => instancePath),
  );
  return errors
    .filter(({ keyword, instancePath }) => keyword === "anyOf" || !choices.has(instancePath))
    .map(({ keyword, instancePath, params, message }) =>
      describe(keyword, instancePath, params, message ?? ""),
    );
}

/** Hints with examples of valid values, by the name of the field. */
const examples: Readonly<Record<string, string>> = {
  id: "For example US-001, or US-001a.",
  dependsOn: "For example US-001.",
  timeout: "For example 90s, 30m, 6h or 1d.",
  createdAt: "For example 2026-01-31.",
  baseRef: "All 40 hexadecimal digits of a commit.",
  parallel: "A whole number from 1 to 256, or auto.",
  memory: "For example 512m or 4g.",
  disk: "For example 8g.",
  network:
    "gateway, none, bridge, or the name of a network of the engine; no network of the host or of another container.",
  engine: "For example unix:///var/run/docker.sock; unix://, tcp:// and npipe:// are accepted.",
  verify: 'A list of commands, for example ["npm test"].',
  escalate: 'A list of changes, for example ["model=claude-opus-5-5"].',
  allow: 'A list of hosts and presets, for example ["example.org:443", "npm"].',
  budgetUsd: "An amount above 0, for example 2.50.",
  budgetTokens: "A whole number, for example 500000.",
  swarmBudgetUsd: "An amount above 0, for example 20.",
  swarmBudgetTokens: "A whole number, for example 5000000.",
  swarmBudgetTime: "For example 30m, 2h or 1d.",
  modelEndpoints: 'A list, for example ["mine=https://models.example,api=openai"].',
  registries: 'A list, for example ["npm=https://packages.example"].',
  credentials: 'Where secrets are, for example {"anthropic": "env:MY_KEY"}.',
  prices: "A list of prices with model, input, output, cacheRead and cacheWrite.",
  agent: 'In a task file {"kind": "claude"}, in settings "claude"; also acp, command, script.',
  acceptanceCriteria: "A list of sentences.",
  priority: "A number; lower comes first.",
  name: "For example build-1: a-z, 0-9 and -, at most 30 characters.",
  runtime: "For example python, node, bash or debian:12-slim.",
  ttl: "With its unit, for example 90s, 30m or 6h.",
  inputs: 'A list of globs, for example ["src/**/*.py"].',
  outputs: 'A list of paths below /outputs, for example ["report.json"].',
  resources: "Some of cpus, memory, disk and pids.",
  cpus: "A number, for example 2 or 1.5.",
  pids: "A whole number of at least 16.",
  env: 'Names with their values, for example LANG: C.UTF-8; "" is an empty value.',
  role: "For example arn:aws:iam::123456789012:role/reader.",
  services: 'A list of services, for example ["s3"].',
};

/**
 * Returns the example for a field. An item of a list has the example of the list; a variable has the example
 * of `env`.
 */
function exampleFor(pointer: string): string | undefined {
  const [last = "", before = ""] = pointer.split("/").reverse();
  if (before === "env") return examples["env"];
  return examples[last] ?? (/^\d+$/.test(last) ? examples[before] : undefined);
}

type Params = Readonly<Record<string, unknown>>;

/**
 * Returns the name of a field for messages. An item of a list is named by list and index: `userStories[0]`.
 */
function nameOf(pointer: string): string {
  const [last = "", before = ""] = pointer.split("/").reverse();
  if (/^\d+$/.test(last)) return `${before}[${last}]`;
  return last || "the file";
}

function describe(keyword: string, pointer: string, params: Params, message: string): Violation {
  const name = nameOf(pointer);
  switch (keyword) {
    case "required":
      return {
        pointer,
        problem: `${name} has no ${JSON.stringify(params["missingProperty"])}`,
        hint: `Add ${JSON.stringify(params["missingProperty"])}.`,
      };
    case "additionalProperties": {
      const field = String(params["additionalProperty"]);
      return {
        pointer: `${pointer}/${field.replaceAll("~", "~0").replaceAll("/", "~1")}`,
        problem: `${JSON.stringify(field)} is not a field of ${name}`,
        hint: "Remove it, or look for a typing mistake.",
      };
    }
    case "type":
      return {
        pointer,
        problem: `${name} must be ${[params["type"]].flat().join(" or ")}`,
        hint: exampleFor(pointer) ?? "Change the value.",
      };
    case "enum":
      return {
        pointer,
        problem: `${name} must be one of ${JSON.stringify(params["allowedValues"])}`,
        hint: `One of ${[params["allowedValues"]].flat().join(", ")}.`,
      };
    case "const":
      return {
        pointer,
        problem: `${name} must be ${JSON.stringify(params["allowedValue"])}`,
        hint: exampleFor(pointer) ?? "Change the value.",
      };
    case "pattern":
      return {
        pointer,
        problem: `${name} does not have the expected form ${String(params["pattern"])}`,
        hint: exampleFor(pointer) ?? "Change the value to this form.",
      };
    case "anyOf":
      return {
        pointer,
        problem: `${name} has none of the forms that are accepted`,
        hint: exampleFor(pointer) ?? "Change the value.",
      };
    default:
      return { pointer, problem: `${name} ${message}`, hint: exampleFor(pointer) ?? "Change the value." };
  }
}
