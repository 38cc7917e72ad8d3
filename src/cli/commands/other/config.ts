import type { ExplainedSetting } from "../../../settings/rules/settings.ts";
import type { CommandHandler } from "../../flags/command.ts";
import { alignTable } from "../../render/table.ts";

export const configExplainCommand: CommandHandler = async ({ project, output }) => {
  const { explained: settings } = await project.settings();
  output.result({ settings }, () => alignTable([["setting", "value", "from"], ...settings.map(toRow)]));
  if (settings.some(({ untrusted }) => untrusted))
    output.next("`swarm trust` allows the project's settings file to set these values");
};

function toRow({ name, value, origin, untrusted }: ExplainedSetting): string[] {
  const shown = value === null ? "none" : Array.isArray(value) ? listed(value) || "none" : String(value);
  return [name, shown, untrusted ? `${origin} (.aimi/config.json ${untrusted} and is not trusted)` : origin];
}

function listed(values: readonly unknown[]): string {
  return values.map((value) => (typeof value === "string" ? value : JSON.stringify(value))).join(", ");
}
