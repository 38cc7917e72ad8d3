import type { ContainerRecord, Reason } from "../../contract/swarm-state.ts";
import { recordWithStatus } from "../../state/rules/swarm-state.ts";
import type { OwnerServices } from "./owner-services.ts";
import type { Worker } from "./worker.ts";

/** How a worker ended. */
export interface WorkerVerdict {
  readonly status: "completed" | "failed" | "stopped";
  readonly reason: Reason | null;
}

/** Reports how a worker ended, and records it together with `others`, the further fields that change with it. */
export async function recordWorkerEnd(
  { store, events, time }: Pick<OwnerServices, "store" | "events" | "time">,
  { name, slug }: Pick<Worker, "name" | "slug">,
  { status, reason }: WorkerVerdict,
  others: Partial<ContainerRecord> = {},
): Promise<void> {
  events.emit({ event: "ended", worker: slug, status, reason });
  await store.change(name, (record) => ({
    ...recordWithStatus(record, status, reason, time.clock()),
    ...others,
  }));
}
