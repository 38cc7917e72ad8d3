import { randomBytes } from "node:crypto";
import { SwarmError } from "../domain/errors.ts";
import type { SandboxRecord } from "../domain/generated/sandbox-run.ts";
import type { OpenEngine } from "../ports/engine.ts";
import type { ProjectSandboxes } from "./project-sandboxes.ts";
import { copyPathOut } from "./sandbox-files.ts";

export interface CollectedFiles {
  readonly outputFiles: readonly string[];
  readonly missingOutputs: readonly string[];
  /** Links, devices, and whole folders that could not be brought out, with the reason. */
  readonly leftOut: readonly string[];
  /** The whole folders among them: what is in these is still in the sandbox, and nowhere else. */
  readonly failed: readonly string[];
}

const longestMs = 60 * 60_000;

/** Brings `/work` and `/outputs` of a sandbox into its folder here. What cannot be taken is told, never half taken. */
export async function collectFiles(
  { folders }: Pick<ProjectSandboxes, "folders">,
  { containers }: OpenEngine,
  {
    record,
    containerId,
    names = ["work", "outputs"],
  }: {
    readonly record: SandboxRecord;
    readonly containerId: string;
    readonly names?: readonly ("work" | "outputs")[];
  },
  signal?: AbortSignal,
): Promise<CollectedFiles> {
  const leftOut: string[] = [];
  const failed: string[] = [];
  const take = async (name: "work" | "outputs"): Promise<string | null> => {
    const into = folders.pathFor(record.id, `.${name}-${randomBytes(4).toString("hex")}`);
    const limit = new AbortController();
    const facts = { command: `bringing out /${name}`, limitMs: longestMs };
    const timer = setTimeout(() => limit.abort(new SwarmError("COMMAND_TIMEOUT", facts)), longestMs);
    try {
      const copied = await copyPathOut(
        containers,
        { id: containerId, path: `/${name}`, into, leaveOut: true },
        signal ? AbortSignal.any([signal, limit.signal]) : limit.signal,
      );
      leftOut.push(...copied.leftOut.map(({ path, reason }) => `${path}: ${reason}`));
      return into;
    } catch (error) {
      if (!(error instanceof SwarmError) || error.code === "ENGINE_UNREACHABLE") throw error;
      failed.push(`/${name}: ${error.message}`);
      return null;
    } finally {
      clearTimeout(timer);
    }
  };
  const work = names.includes("work") ? await take("work") : null;
  if (work) await folders.replaceWork(record.id, work);
  const outputs = await take("outputs");
  const outputFiles = outputs ? await folders.replaceOutputs(record.id, outputs) : [];
  return {
    ...{ outputFiles, leftOut: [...leftOut, ...failed], failed },
    missingOutputs: record.expectedOutputs.filter(
      (path) =>
        !outputFiles.some((file) => file === path || file === `task-${path}` || file.startsWith(`${path}/`)),
    ),
  };
}
