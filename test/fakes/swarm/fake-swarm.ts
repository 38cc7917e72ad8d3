import { setImmediate } from "node:timers/promises";
import type { TaskRequestPayload } from "../../../src/contract/acp.ts";
import type { ContainerRecord, SwarmState } from "../../../src/contract/swarm-state.ts";
import type { Containers } from "../../../src/engine/containers.ts";
import type {
  AdapterConversationEnd,
  AdapterConversationEvent,
} from "../../../src/protocol/adapter-conversation.ts";
import type { AdapterMessage } from "../../../src/protocol/rules/protocol-messages.ts";
import { type OwnerCommand, stateWithOwnerCommand } from "../../../src/state/rules/owner-commands.ts";
import {
  newSwarmState,
  requireRecord,
  stateWithNewRecord,
  stateWithReplacedRecord,
} from "../../../src/state/rules/swarm-state.ts";
import { workerContainerName } from "../../../src/state/rules/worker-container-name.ts";
import { countStoryProgress, newStoryRecords } from "../../../src/state/rules/worker-record.ts";
import { findUnendedWorkers } from "../../../src/swarm/begin-swarm.ts";
import { runOwnerLoop } from "../../../src/swarm/owner-loop.ts";
import { openNetworkAccessWithoutGateway } from "../../../src/swarm/worker/network-access.ts";
import type { OwnerServices, SwarmEvent, SwarmStore } from "../../../src/swarm/worker/owner-services.ts";
import type { RetryPolicy } from "../../../src/swarm/worker/rules/retry-policy.ts";
import type { HostCapacity } from "../../../src/tasks/rules/parallel-workers.ts";
import { fakeContainers } from "../engine/fake-containers.ts";
import { storyWith, taskFileWith } from "../tasks/task-files.ts";

const project = { id: "0123456789abcdef0123456789abcdef", slug: "sample", root: "/sample" };
const swarmId = "3f2b8c1e-5a4d-4e6f-8a9b-0c1d2e3f4a5b";
const clock = (): Date => new Date("2026-01-02T03:04:05.000Z");
const storyId = "US-001";
const head = "a".repeat(40);

/** The adapter's side of one conversation. */
export interface FakeTalk {
  /** Says what is no news of a story. */
  chat(): void;
  readonly attempt: number;
  readonly cancelled: readonly object[];
  readonly resumed: readonly number[];
  /** Its one story has this status by now. */
  tell(status: "in_progress" | "completed" | "failed"): void;
  end(end: AdapterConversationEnd): void;
  complete(): void;
  fail(): void;
  /** Its container ended without a last word. */
  die(exitCode?: number): Promise<void>;
}

export interface FakeSwarm {
  readonly deps: OwnerServices;
  readonly containers: Containers;
  readonly told: readonly SwarmEvent[];
  readonly waits: readonly number[];
  state(): SwarmState;
  record(slug: string): ContainerRecord;
  nameOf(slug: string, attempt?: number): string;
  /** As another command would. */
  write(change: (state: SwarmState) => SwarmState): void;
  wish(wish: OwnerCommand): void;
  /** The next conversation with this worker. */
  talk(slug: string): Promise<FakeTalk>;
  /** Resolves when the state is like this. */
  until(isSo: (state: SwarmState) => boolean): Promise<void>;
  own(options?: {
    readonly policy?: Partial<RetryPolicy>;
    readonly parallel?: number | "auto";
    readonly room?: () => Promise<HostCapacity>;
    /** Called when the owner has looked at its workers for the last time. */
    readonly whenUnwatched?: () => void;
  }): FakeOwner;
}

export interface FakeOwner {
  readonly ended: Promise<SwarmState>;
  readonly halt: AbortController;
  readonly stopNow: AbortController;
  readonly lost: AbortController;
}

/** A swarm in memory: its owner is the real one, everything that it acts with is not. */
export function fakeSwarm(
  workers: readonly {
    readonly slug: string;
    readonly dependsOn?: readonly string[];
    readonly maxConcurrency?: number;
  }[],
  change: Partial<OwnerServices> = {},
): FakeSwarm {
  const fileOf = (slug: string): string => `2026-01-02-${slug}-tasks.json`;
  const nameOf = (slug: string, attempt = 1): string =>
    workerContainerName({ projectId: project.id, swarmId, slug, attempt });
  const taskFiles = new Map(
    workers.map(({ slug, dependsOn = [], maxConcurrency }) => [
      `.aimi/tasks/${fileOf(slug)}`,
      taskFileWith({
        metadata: {
          branchName: `feat/${slug}`,
          agent: { kind: "command", command: ["true"] },
          dependsOn: dependsOn.map(fileOf),
          ...(maxConcurrency !== undefined && { maxConcurrency }),
        },
        stories: [storyWith({ id: storyId })],
      }),
    ]),
  );
  const stories = newStoryRecords([storyId]);
  let state = workers.reduce(
    (before, { slug }) =>
      stateWithNewRecord(
        before,
        {
          ...{ containerName: nameOf(slug), taskFilePath: `.aimi/tasks/${fileOf(slug)}` },
          ...{ branchName: `feat/${slug}`, stories, storyProgress: countStoryProgress(stories) },
        },
        clock(),
      ),
    newSwarmState(project, swarmId, clock()),
  );
  const listeners = new Set<() => void>();
  const told: SwarmEvent[] = [];
  const waits: number[] = [];
  const talks = new Map<string, FakeTalk[]>();
  let seq = 0;
  const requests = new Map<string, TaskRequestPayload>();
  const volumes = new Set<string>();
  const changed = (): void => {
    for (const listener of listeners) listener();
  };
  const update = async (next: (before: SwarmState) => SwarmState): Promise<void> => {
    await setImmediate();
    state = next(state);
    changed();
  };
  const containers = fakeContainers(async (_signal, result) => result());
  const record = (slug: string): ContainerRecord => {
    const found = state.containers.find(({ branchName }) => branchName === `feat/${slug}`);
    if (!found) throw new Error(`There is no worker ${slug}`);
    return found;
  };
  const until = async (isSo: (now: SwarmState) => boolean): Promise<void> => {
    const { promise, resolve } = Promise.withResolvers<void>();
    const look = (): void => {
      if (isSo(state)) resolve();
    };
    listeners.add(look);
    look();
    await promise;
    listeners.delete(look);
  };
  const changeRecord: SwarmStore["change"] = (name, next) =>
    update((before) => {
      const found = before.containers.find(({ containerName }) => containerName === name);
      return found ? stateWithReplacedRecord(before, next(found)) : before;
    });
  const unused = (): never => {
    throw new Error("Nobody should ask for this");
  };

  const deps: OwnerServices = {
    swarm: {
      swarmId,
      projectId: project.id,
      worktree: "w",
      settings: {
        ...{ agent: "claude", agentCommand: [], verify: [], escalate: [], timeout: "1h" },
        ...{ "work.files": 100_000, "work.size": "1g", "work.fileSize": "500m" },
      },
    },
    store: {
      read: async () => state,
      record: async (name) => requireRecord(await deps.store.read(), name),
      change: changeRecord,
      changeSoon: changeRecord,
      update,
    },
    sandboxes: {
      canPause: true,
      containers,
      volumes: {
        create: async (name) => void volumes.add(name),
        list: async () => [...volumes],
        remove: async (name) => void volumes.delete(name),
      },
      image: "image",
      imageCommit: head,
      runtime: "runc",
      limits: {
        ...{ cpus: 1, memoryBytes: 1, swapBytes: 0, pids: 1, descriptors: 1 },
        ...{ diskBytes: 1, files: 1, logBytes: 1 },
      },
    },
    repository: {
      work: {
        importBundle: unused,
        publish: unused,
        changes: unused,
        merge: unused,
        conflicts: unused,
        ...{ readPatch: unused, mergeWithConflictMarkers: unused, moveRef: unused, commitAt: unused },
        isAncestor: unused,
        branch: unused,
        hasCommit: async () => true,
        isReferenced: async () => true,
        mergeBases: async () => ({ kind: "commit", commit: head }),
        sensitivePaths: async () => ({ paths: [], isCut: false, deleted: { total: 0, paths: [] } }),
      },
      commits: { bundle: unused },
      author: { name: "Ada", email: "ada@example.invalid" },
    },
    channel: {
      async connect({ slug, attempt, containerId }) {
        const conversation = fakeConversation({ containers, containerId, attempt, nextSeq: () => ++seq });
        talks.set(slug, [...(talks.get(slug) ?? []), conversation.talk]);
        changed();
        return conversation;
      },
      async *readJournal() {},
      readFile: unused,
      copyBundle: unused,
      findRequest: async ({ slug, attempt }) => requests.get(`${slug} ${attempt}`) ?? null,
      findRework: async () => null,
      storeRework: unused,
      storeRequest: async ({ slug, attempt }, request) => void requests.set(`${slug} ${attempt}`, request),
    },
    networkAccess: openNetworkAccessWithoutGateway({ kind: "none" }, () => null),
    events: { emit: (event) => void told.push(event), onMessage: () => {} },
    time: {
      async wait(ms, signal) {
        waits.push(ms);
        await setImmediate();
        signal.throwIfAborted();
      },
      random: () => 1,
      clock,
      crashPoint: () => {},
      signal: new AbortController().signal,
    },
    proofs: { prove: null, find: async () => null },
    tasks: { addToLedger: async () => {}, readScript: unused },
    ...change,
  };

  const write: FakeSwarm["write"] = (next) => {
    state = next(state);
    changed();
  };
  const taken = new Map<string, number>();
  return {
    ...{ deps, containers, told, waits, record, nameOf, until, write },
    state: () => state,
    wish: (wish) => write((before) => stateWithOwnerCommand(before, wish)),
    async talk(slug) {
      const index = taken.get(slug) ?? 0;
      taken.set(slug, index + 1);
      await until(() => (talks.get(slug)?.length ?? 0) > index);
      const talk = talks.get(slug)?.[index];
      if (!talk) throw new Error(`There is no conversation with ${slug}`);
      return talk;
    },
    own({ policy = {}, parallel = 4, room = unused, whenUnwatched = () => {} } = {}) {
      const halt = new AbortController();
      const stopNow = new AbortController();
      const lost = new AbortController();
      const ended = runOwnerLoop(
        deps,
        {
          ...{ hostCapacity: room, askHostEveryMs: 5 },
          ...{ parallel, policy: { maxAttempts: 1, failFast: false, ...policy } },
          waitingIn: async (now) =>
            findUnendedWorkers(now, ({ taskFilePath }) => {
              const taskFile = taskFiles.get(taskFilePath);
              if (!taskFile) return null;
              return {
                path: taskFilePath,
                fileName: taskFilePath.split("/").at(-1) ?? "",
                ...{ sha256: null, taskFile },
              };
            }),
          watch(onChange, signal) {
            listeners.add(onChange);
            signal.addEventListener(
              "abort",
              () => {
                listeners.delete(onChange);
                whenUnwatched();
              },
              { once: true },
            );
          },
        },
        { halt: halt.signal, stopNow: stopNow.signal, lost: lost.signal },
      );
      return { ended, halt, stopNow, lost };
    },
  };
}

/** An adapter that is asked to stop does so at once, unless its container is paused: then it hears nothing. */
function fakeConversation({
  containers,
  containerId,
  attempt,
  nextSeq,
}: {
  readonly containers: Containers;
  readonly containerId: string;
  readonly attempt: number;
  readonly nextSeq: () => number;
}) {
  const queue: AdapterConversationEvent[] = [];
  let wake = Promise.withResolvers<void>();
  const cancelled: object[] = [];
  const resumed: number[] = [];
  const put = (event: AdapterConversationEvent): void => {
    queue.push(event);
    wake.resolve();
  };
  const say = (message: object): void => {
    put({
      kind: "message",
      message: { seq: nextSeq(), timestamp: "", ...message } as unknown as AdapterMessage,
    });
  };
  const tell: FakeTalk["tell"] = (status) =>
    say({ type: "progress-update", payload: { storyId, status, commit: null } });
  const end = (how: AdapterConversationEnd): void => put({ kind: "end", end: how });
  const finish = (status: "completed" | "failed" | "stopped"): void => {
    const message = { type: "completion", payload: { status, head } };
    end({ kind: "completion", message } as unknown as AdapterConversationEnd);
  };
  const hear = async (): Promise<void> => {
    const facts = await containers.inspect(containerId);
    if (cancelled.length > 0 && facts?.state === "running") finish("stopped");
  };
  const talk: FakeTalk = {
    ...{ attempt, cancelled, resumed, tell, end },
    chat: () => say({ type: "activity", payload: { storyId, text: "reading" } }),
    complete() {
      tell("completed");
      finish("completed");
    },
    fail() {
      tell("failed");
      finish("failed");
    },
    async die(exitCode = 137) {
      await containers.stop(containerId, { graceMs: 0 });
      end({ kind: "exited", exitCode, memoryExhausted: false, processes: null, unread: null });
    },
  };
  return {
    talk,
    events: {
      async *[Symbol.asyncIterator]() {
        for (;;) {
          for (const event of queue.splice(0)) {
            yield event;
            if (event.kind === "end") return;
          }
          await wake.promise;
          wake = Promise.withResolvers();
        }
      },
    },
    async cancel(words: object) {
      cancelled.push(words);
      await hear();
    },
    async resumed(ms: number) {
      resumed.push(ms);
      await hear();
    },
    // A connection takes its time to close.
    async [Symbol.asyncDispose]() {
      for (let turns = 0; turns < 10; turns += 1) await setImmediate();
    },
  };
}
