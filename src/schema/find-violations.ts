import type { ErrorObject, ValidateFunction } from "ajv";
import { escapeKey } from "./json-pointer.ts";

/** A violation of a JSON schema, described for users. */
export interface SchemaViolation {
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

/**
 * Finds where a value violates the JSON schema `schemas/<name>.schema.json`. Returns an empty array if the
 * value is valid.
 */
export async function findSchemaViolations(name: SchemaName, value: unknown): Promise<SchemaViolation[]> {
  const { default: validate }: { default: ValidateFunction } = await import(`./generated/${name}.js`);
  if (validate(value)) return [];
  const errors = validate.errors ?? [];
  // For `anyOf`, the validator reports errors of every alternative. Only the error that sums them up helps a
  // user.
  const choices = new Set(
    errors.filter(({ keyword }) => keyword === "anyOf").map(({ instancePath }) => instancePath),
  );
  return errors
    .filter(({ keyword, instancePath }) => keyword === "anyOf" || !choices.has(instancePath))
    .map(describe);
}

/** The hints that a violation contains, each with an example of a valid value, by the field's name. */
const examples: Readonly<Record<string, string>> = {
  id: "Write an id such as US-001 or US-001a.",
  dependsOn: "Write the id of a story, for example US-001.",
  timeout: "Write a duration with its unit, for example 90s, 30m, 6h or 1d.",
  createdAt: "Write a date, for example 2026-01-31.",
  baseRef: "Write all 40 hexadecimal digits of a commit id.",
  parallel: "Write a whole number from 1 to 256, or auto.",
  memory: "Write a size, for example 512m or 4g.",
  disk: "Write a size, for example 8g.",
  network:
    "Write gateway, none, bridge, or the name of a network of the engine; the networks of the host and of other containers are not accepted.",
  engine:
    "Write an address that begins with unix://, tcp:// or npipe://, for example unix:///var/run/docker.sock.",
  verify: 'Write a list of commands, for example ["npm test"].',
  escalate: 'Write a list of changes, for example ["model=claude-opus-5-5"].',
  allow: 'Write a list of hosts and presets, for example ["example.org:443", "npm"].',
  budgetUsd: "Write an amount in US dollars above 0, for example 2.50.",
  budgetTokens: "Write a whole number of tokens, for example 500000.",
  swarmBudgetUsd: "Write an amount in US dollars above 0, for example 20.",
  swarmBudgetTokens: "Write a whole number of tokens, for example 5000000.",
  swarmBudgetTime: "Write a duration, for example 30m, 2h or 1d.",
  modelEndpoints: 'Write a list of addresses, for example ["mine=https://models.example,api=openai"].',
  registries: 'Write a list of registries, for example ["npm=https://packages.example"].',
  credentials: 'Write references to secrets, for example {"anthropic": "env:MY_KEY"}.',
  prices: "Write a list of prices, each with the fields model, input, output, cacheRead and cacheWrite.",
  agent:
    'Write {"kind": "claude"} in a task file, "claude" in settings; other kinds are acp, command and script.',
  acceptanceCriteria: "Write a list of sentences.",
  priority: "Write a number; the story with the lowest number comes first.",
  name: "Write a name of at most 30 characters from a-z, 0-9 and -, for example build-1.",
  runtime: "Write the name of a language or of an image, for example python, node, bash or debian:12-slim.",
  ttl: "Write a time to live with its unit, for example 90s, 30m or 6h.",
  inputs: 'Write a list of globs, for example ["src/**/*.py"].',
  outputs: 'Write a list of paths below /outputs, for example ["report.json"].',
  resources: "Use only the fields cpus, memory, disk and pids.",
  cpus: "Write a number of CPUs, for example 2 or 1.5.",
  pids: "Write a number of processes, at least 16.",
  env: 'Write names with their values, for example LANG: C.UTF-8; "" is an empty value.',
  role: "Write the ARN of a role, for example arn:aws:iam::123456789012:role/reader.",
  services: 'Write a list of services, for example ["s3"].',
};

/**
 * Returns the hint for a field. An item of a list gets the hint of the list, and an environment variable gets
 * the hint of `env`.
 */
function exampleFor(pointer: string): string | undefined {
  const [last = "", before = ""] = pointer.split("/").reverse();
  if (before === "env") return examples["env"];
  return examples[last] ?? (/^\d+$/.test(last) ? examples[before] : undefined);
}

/** Returns the name of a field as messages show it. An item of a list is shown as `userStories[0]`. */
function nameOf(pointer: string): string {
  const [last = "", before = ""] = pointer.split("/").reverse();
  if (/^\d+$/.test(last)) return `${before}[${last}]`;
  return last || "the file";
}

function describe({ keyword, instancePath: pointer, params, message = "" }: ErrorObject): SchemaViolation {
  const name = nameOf(pointer);
  const example = exampleFor(pointer);
  const violation = (problem: string, hint = example ?? "Change the value."): SchemaViolation => ({
    pointer,
    problem: `${name} ${problem}`,
    hint,
  });
  switch (keyword) {
    case "required": {
      const field = JSON.stringify(params["missingProperty"]);
      return violation(`has no ${field}`, `Add ${field}.`);
    }
    case "additionalProperties": {
      const field = String(params["additionalProperty"]);
      return {
        pointer: `${pointer}/${escapeKey(field)}`,
        problem: `${JSON.stringify(field)} is not a field of ${name}`,
        hint: "Remove this field, or correct its name.",
      };
    }
    case "type":
      return violation(`must be ${[params["type"]].flat().join(" or ")}`);
    case "enum":
      return violation(
        `must be one of ${JSON.stringify(params["allowedValues"])}`,
        `Use one of ${[params["allowedValues"]].flat().join(", ")}.`,
      );
    case "const":
      return violation(`must be ${JSON.stringify(params["allowedValue"])}`);
    case "pattern":
      return violation(
        `does not have the expected form ${String(params["pattern"])}`,
        example ?? "Change the value so that it has this form.",
      );
    case "anyOf":
      return violation("has none of the accepted forms");
    default:
      return violation(message);
  }
}
