import { invalidValue } from "../../errors/errors.ts";
import type { EnvironmentVariables } from "../../machine/user-folders.ts";

export type ProgressMode = "tty" | "plain" | "json" | "quiet";

export const progressModes = ["auto", "tty", "plain", "json", "quiet"] as const;

const minColumns = 40;

/**
 * Determines how to show progress, from the flag `--progress` or the environment. Replaces `auto` by `tty` on
 * a terminal, and by `plain` for a pipe, in CI and for agents. Without a terminal, `columns` is 0.
 */
export function progressMode(flag: unknown, env: EnvironmentVariables, columns: number): ProgressMode {
  const text = flag ?? (env["SWARM_PROGRESS"] || "auto");
  const wanted = progressModes.find((known) => known === text);
  if (!wanted) throw invalidValue("SWARM_PROGRESS", text, `one of ${progressModes.join(", ")}`);
  if (wanted === "tty" && columns === 0) return "plain";
  if (wanted !== "auto") return wanted;
  return columns >= minColumns && !env["CI"] && !env["CLAUDECODE"] && env["TERM"] !== "dumb"
    ? "tty"
    : "plain";
}
