import {
  type ContainerRecord,
  newSwarmState,
  type SwarmState,
  stateWithNewRecord,
} from "../../../src/state/rules/swarm-state.ts";

export const now: Date = new Date("2026-01-02T03:04:05.000Z");
const project = { id: "0123456789abcdef0123456789abcdef", slug: "sample", root: "/sample" };
const swarmId = "3f2b8c1e-5a4d-4e6f-8a9b-0c1d2e3f4a5b";

/** A swarm with so many pending workers. */
export function swarmOf(workers: number): SwarmState {
  let state = newSwarmState(project, swarmId, now);
  for (let index = 1; index <= workers; index += 1) state = stateWithNewRecord(state, worker(index), now);
  return state;
}

/** A record of a swarm of one, changed at will. */
export function recordWith(change: Partial<ContainerRecord>): ContainerRecord {
  const [record] = swarmOf(1).containers;
  if (!record) throw new Error("a swarm of one has a record");
  return { ...record, ...change };
}

export function worker(
  index: number,
): Pick<ContainerRecord, "containerName" | "taskFilePath" | "branchName"> {
  return {
    containerName: `aimi-sample-${index}`,
    taskFilePath: `.aimi/tasks/${index}-tasks.json`,
    branchName: `feat/${index}`,
  };
}
