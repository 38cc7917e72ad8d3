import { packFiles } from "../../../src/archive/pack-files.ts";
import type { AdapterPhase } from "../../../src/contract/acp.ts";
import type {
  ContainerExecution,
  ContainerFacts,
  Containers,
  ExecExit,
  ExecSpec,
  OutputChunk,
} from "../../../src/engine/containers.ts";
import { SwarmError } from "../../../src/errors/errors.ts";
import { containerId, heartbeat, hello, message, type News } from "../protocol/acp-talk.ts";

interface Heard {
  readonly type: string;
  readonly payload: Readonly<Record<string, unknown>>;
  readonly line: string;
}

interface Connection {
  readonly from: number;
  wake: PromiseWithResolvers<void>;
  readonly extra: Buffer[];
  isClosed: boolean;
}

export interface FakeAdapterOptions {
  /** What it says once it has its request. */
  readonly news?: readonly News[];
  /** After how many bytes of its output a connection breaks, by its number from 1; never without. */
  readonly cutAfter?: (connection: number) => number | undefined;
  /** Into pieces of how many bytes its output is cut. */
  readonly pieceBytes?: number;
  /** Looks at every acknowledgement as it comes. */
  readonly onAck?: (seq: number) => void;
}

/** An adapter in a container in memory: it has a journal, any number may join, and it goes on when nobody does. */
export class FakeAdapter {
  readonly heard: Heard[] = [];
  readonly journal: Buffer[] = [];
  readonly commands: ExecSpec[] = [];
  /** From where each connection began. */
  readonly joinedFrom: number[] = [];
  phase: AdapterPhase = "waiting";
  state: ContainerFacts["state"] | "absent" = "running";
  exitCode: number | null = null;
  /** Whether the engine answers. */
  isReachable = true;
  /** Whether it ends by itself once its completion is acknowledged. */
  endsWhenAcknowledged = true;
  /** What it writes to stderr when it is joined. */
  diagnostics = "";
  /** What the engine writes instead, when it cannot start the program. */
  unstarted = "";
  /** How the engine says that such a program ended. */
  unstartedExit: ExecExit = { kind: "exited", code: 126 };
  tornTail = "";
  sent = 0;
  readonly #options: FakeAdapterOptions;
  readonly #connections = new Set<Connection>();

  constructor(options: FakeAdapterOptions = {}) {
    this.#options = options;
  }

  /** Writes to its journal and tells all who joined. */
  say(...news: readonly News[]): void {
    for (const { type, payload } of news)
      this.sayRaw(message(type, payload, { seq: this.journal.length + 1 }));
    if (news.some(({ type }) => type === "completion")) this.phase = "finished";
  }

  sayRaw(value: unknown): void {
    this.journal.push(Buffer.from(`${typeof value === "string" ? value : JSON.stringify(value)}\n`));
    this.#wakeAll();
  }

  /** Says something that has no place in the journal. */
  whisper(value: unknown): void {
    const line = Buffer.from(`${JSON.stringify(value)}\n`);
    for (const connection of this.#connections) connection.extra.push(line);
    this.#wakeAll();
  }

  beat(): void {
    this.whisper(heartbeat({ phase: this.phase }));
  }

  cutAll(): void {
    for (const connection of this.#connections) connection.isClosed = true;
    this.#wakeAll();
  }

  exit(code: number): void {
    this.state = "exited";
    this.exitCode = code;
    this.cutAll();
  }

  get joined(): number {
    return this.#connections.size;
  }

  heardTypes(): string[] {
    return this.heard.map(({ type }) => type);
  }

  readonly containers: Pick<Containers, "exec" | "inspect" | "copyOut"> = {
    exec: async (id, spec, signal) => {
      await null;
      this.#refuseUnreachable();
      signal?.throwIfAborted();
      if (this.state === "absent") throw new SwarmError("CONTAINER_GONE", { id });
      if (this.state !== "running") throw new SwarmError("CONTAINER_NOT_RUNNING", { id, state: this.state });
      this.commands.push(spec);
      return this.#join(Number(spec.command[3]), signal);
    },

    inspect: async (id) => {
      await null;
      this.#refuseUnreachable();
      if (this.state === "absent") return null;
      return {
        ...{ id, name: "aimi-fake", imageId: "", labels: {}, state: this.state, exitCode: this.exitCode },
        ...{ memoryExhausted: false, startedAt: null, finishedAt: null, diskBytes: null },
      };
    },

    copyOut: (id, path) => {
      if (this.state === "absent") throw new SwarmError("CONTAINER_GONE", { id });
      const content = Buffer.concat([...this.journal, Buffer.from(this.tornTail)]);
      const name = path.slice(path.lastIndexOf("/") + 1);
      return packFiles([{ kind: "file", path: name, mode: 0o600, uid: 0, gid: 0, content }]);
    },
  };

  #refuseUnreachable(): void {
    if (!this.isReachable) throw new SwarmError("ENGINE_UNREACHABLE", { tried: ["the fake one"] });
  }

  #join(from: number, signal: AbortSignal | undefined): ContainerExecution {
    const connection: Connection = { from, wake: Promise.withResolvers(), extra: [], isClosed: false };
    this.#connections.add(connection);
    this.joinedFrom.push(from);
    const limit = this.#options.cutAfter?.(this.joinedFrom.length) ?? Number.POSITIVE_INFINITY;
    signal?.addEventListener("abort", () => this.#close(connection), { once: true });
    let input = "";
    return {
      id: String(this.joinedFrom.length),
      write: async (bytes) => {
        await null;
        input += Buffer.from(bytes).toString();
        const whole = input.split("\n");
        input = whole.pop() ?? "";
        for (const line of whole) this.#hear(line);
      },
      endInput: async () => {},
      output: { [Symbol.asyncIterator]: () => this.#tell(connection, limit, signal) },
      exit: async () => (this.unstarted === "" ? { kind: "lost", reason: "gone" } : this.unstartedExit),
      [Symbol.asyncDispose]: async () => this.#close(connection),
    };
  }

  #close(connection: Connection): void {
    connection.isClosed = true;
    connection.wake.resolve();
    this.#connections.delete(connection);
  }

  #wakeAll(): void {
    for (const connection of this.#connections) connection.wake.resolve();
  }

  async *#tell(
    connection: Connection,
    limit: number,
    signal: AbortSignal | undefined,
  ): AsyncGenerator<OutputChunk> {
    if (this.diagnostics !== "") yield { stream: "stderr", bytes: Buffer.from(this.diagnostics) };
    let room = limit;
    for await (const bytes of this.#words(connection)) {
      const size = this.#options.pieceBytes ?? bytes.length;
      for (let at = 0; at < bytes.length; at += size) {
        const piece = bytes.subarray(at, Math.min(at + size, at + room, bytes.length));
        room -= piece.length;
        this.sent += piece.length;
        if (piece.length > 0) yield { stream: "stdout", bytes: piece };
        signal?.throwIfAborted();
        if (room <= 0) return this.#close(connection);
      }
    }
    this.#close(connection);
    signal?.throwIfAborted();
  }

  async *#words(connection: Connection): AsyncGenerator<Buffer> {
    if (this.unstarted !== "") return yield Buffer.from(this.unstarted);
    let position = connection.from;
    const said = { phase: this.phase, lastSeq: this.journal.length };
    yield Buffer.from(
      `${JSON.stringify(hello(said, this.phase === "waiting" ? { containerId: "" } : {}))}\n`,
    );
    for (;;) {
      const pending = [...connection.extra.splice(0), ...this.journal.slice(position)];
      position = this.journal.length;
      if (pending.length > 0) {
        yield Buffer.concat(pending);
        continue;
      }
      if (connection.isClosed) return;
      await connection.wake.promise;
      connection.wake = Promise.withResolvers();
    }
  }

  #hear(line: string): void {
    const { type, payload, ...envelope } = JSON.parse(line);
    this.heard.push({ type, payload, line });
    if (envelope.containerId !== containerId) throw new Error("It was told the wrong container");
    if (type === "task-request" && this.phase === "waiting") {
      this.phase = "running";
      this.say(...(this.#options.news ?? []));
    }
    if (type === "cancel") this.cancelled?.();
    if (type !== "ack") return;
    this.#options.onAck?.(payload.seq);
    if (this.phase === "finished" && payload.seq === this.journal.length && this.endsWhenAcknowledged)
      this.exit(0);
  }

  /** What it does when it is to stop. */
  cancelled: (() => void) | undefined;
}
