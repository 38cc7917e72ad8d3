import { parseDurationMs } from "../domain/duration.ts";
import type { TaskRequestPayload } from "../domain/generated/acp.ts";
import type { ContainerRecord } from "../domain/generated/swarm-state.ts";
import type { LoadedTask } from "../domain/plan.ts";
import type { Settings } from "../domain/settings.ts";
import { findContainer, movedTo } from "../domain/swarm-state.ts";
import type { SwarmDeps, Worker } from "./swarm-deps.ts";

/** A worker before it is known where its work begins. */
export interface WaitingWorker {
  readonly name: string;
  readonly slug: string;
  readonly task: LoadedTask;
  /** Names of the workers whose results it starts from. */
  readonly dependsOn: readonly string[];
}

export interface EquipDeps extends SwarmDeps {
  readonly settings: Pick<Settings, "agent" | "verify" | "timeout">;
  /** The commit whose tree is in the image. */
  readonly imageCommit: string;
  readonly author: { readonly name: string; readonly email: string };
  /** The parsed content of a script file, for scripted agents. */
  readonly readScript: (path: string) => Promise<object>;
}

const bundlePath = "bundle:/aimi/in/repo.bundle";

/** What a worker needs to begin: where, and the request. Both are fixed the first time. Null when its bases contradict each other. */
export async function equipWorker(deps: EquipDeps, waiting: WaitingWorker): Promise<Worker | null> {
  const { slug, name, task } = waiting;
  const record = findContainer(await deps.read(), name);
  const base = record.baseCommit ?? (await chooseBase(deps, waiting));
  if (base === null) return null;
  if (record.baseCommit === null) await deps.change(name, (now) => ({ ...now, baseCommit: base }));
  const isInImage = base === deps.imageCommit;
  const at = { slug, attempt: record.attempt };
  let request = await deps.places.findRequest(at);
  if (request === null) {
    request = await payloadOf(deps, task, { base, record, isInImage });
    await deps.places.keepRequest(at, request);
  }
  return { name, slug, task, base, request };
}

async function chooseBase(
  deps: EquipDeps,
  { name, task, dependsOn, slug }: WaitingWorker,
): Promise<string | null> {
  const { baseRef } = task.taskFile.metadata;
  if (dependsOn.length === 0) return baseRef ?? deps.imageCommit;
  const state = await deps.read();
  const commits = dependsOn.map((other) => {
    const { collected, baseCommit } = findContainer(state, other);
    return collected?.commit ?? baseCommit ?? deps.imageCommit;
  });
  const merged = await deps.work.mergeBases(commits, deps.signal);
  if (merged.kind === "commit") return merged.commit;
  const reason = {
    code: "BASE_CONFLICT",
    message: `the results that it starts from contradict each other in ${merged.files.slice(0, 5).join(", ")}`,
  };
  deps.tell({ event: "ended", worker: slug, status: "failed", reason });
  await deps.change(name, (now) => movedTo(now, "failed", reason, deps.clock()));
  return null;
}

async function payloadOf(
  { settings, author, readScript }: EquipDeps,
  { path, taskFile }: LoadedTask,
  {
    base,
    record,
    isInImage,
  }: { readonly base: string; readonly record: ContainerRecord; readonly isInImage: boolean },
): Promise<TaskRequestPayload> {
  const { metadata } = taskFile;
  const { script, ...agent } = metadata.agent ?? { kind: settings.agent };
  return {
    taskFilePath: path,
    branchName: record.branchName,
    repoUrl: isInImage ? "image:" : bundlePath,
    taskFile,
    baseCommit: base,
    author,
    agent: { ...agent, ...(script === undefined ? {} : { script: await readScript(script) }) },
    verify: [...(metadata.verify ?? settings.verify)],
    limits: { wallClockMs: parseDurationMs(metadata.timeout ?? settings.timeout) ?? 6 * 3_600_000 },
  };
}
