import type { TaskFile } from "../../contract/tasks.ts";
import { parseDurationMs } from "../../text/duration-and-size.ts";
import type { Settings } from "./settings.ts";

/** A field of a task file that swarm applies only if the user trusts the file. */
interface FieldNeedingTrust {
  readonly pointer: string;
  readonly field: string;
  readonly why: string;
}

/**
 * Finds the fields of a task file that need the user's trust, because a task file from an untrusted
 * repository must not set them.
 */
export function findFieldsNeedingTrust(
  { metadata }: TaskFile,
  { budgetUsd, timeout }: Pick<Settings, "budgetUsd" | "timeout">,
): FieldNeedingTrust[] {
  const needs: FieldNeedingTrust[] = [];
  const need = (field: string, why: string): void => {
    needs.push({ pointer: `/metadata/${field.replaceAll(".", "/")}`, field: `metadata.${field}`, why });
  };
  if (metadata.allow?.length) need("allow", "lets the agent connect to more hosts");
  if (metadata.dockerImage) need("dockerImage", "chooses the image of the sandbox");
  if (metadata.agent?.env && Object.keys(metadata.agent.env).length > 0)
    need("agent.env", "sets environment variables of the agent");
  if (metadata.budgetUsd !== undefined && budgetUsd !== null && metadata.budgetUsd > budgetUsd)
    need("budgetUsd", "raises the budget");
  if (metadata.timeout && (parseDurationMs(metadata.timeout) ?? 0) > (parseDurationMs(timeout) ?? 0)) {
    need("timeout", "raises the worker's time limit");
  }
  return needs;
}
