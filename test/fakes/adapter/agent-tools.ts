import type { AgentActivity, AgentProgram, TurnSandbox, TurnUsage } from "../../../adapter/agents/agent.ts";

/** The other end of a program that is no program: the test says what it writes and when it ends. */
export interface FakeProgram {
  readonly command: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  /** All that was written to it, and whether there will be more. */
  readonly input: () => string;
  readonly inputEnded: Promise<void>;
  readonly signals: readonly ("interrupt" | "kill")[];
  print(...events: readonly unknown[]): void;
  end(code: number, stderrTail?: string): void;
  /** Called with each line that is written to it. */
  onLine(listener: (line: string) => void): void;
  /** What is written from now on is read by nobody: it waits. */
  stopReading(): void;
}

export interface FakeAgentTools extends TurnSandbox {
  readonly activities: readonly AgentActivity[];
  readonly usages: readonly TurnUsage[];
  readonly programs: readonly FakeProgram[];
  readonly kept: () => string | null;
}

export interface FakeAgentToolsOptions {
  readonly conversation?: string;
  readonly env?: Readonly<Record<string, string>>;
  /** What a program does, once it is started. A killed program ends by itself with 137. */
  readonly run: (program: FakeProgram, index: number) => void;
  readonly ask?: (command: readonly string[]) => { readonly code: number; readonly output: string };
}

/** A sandbox in memory for one story's agent. */
export function fakeAgentTools({ conversation, env = {}, run, ask }: FakeAgentToolsOptions): FakeAgentTools {
  const activities: AgentActivity[] = [];
  const usages: TurnUsage[] = [];
  const programs: FakeProgram[] = [];
  let kept = conversation ?? null;
  return {
    activities,
    usages,
    programs,
    env,
    kept: () => kept,
    conversation: {
      get id() {
        return kept;
      },
      keep: async (id) => {
        kept = id;
      },
    },
    report: (activity) => void activities.push(activity),
    reportUsage: (usage) => void usages.push(usage),
    runCommand: async (command) => ask?.(command) ?? { code: 1, output: "" },
    start(command, added = {}) {
      const { program, remote } = fakeProgram(command, added);
      programs.push(remote);
      run(remote, programs.length - 1);
      return program;
    },
  };
}

function fakeProgram(
  command: readonly string[],
  env: Readonly<Record<string, string>>,
): { readonly program: AgentProgram; readonly remote: FakeProgram } {
  const exit = Promise.withResolvers<number>();
  const inputEnded = Promise.withResolvers<void>();
  const lines: string[] = [];
  const signals: ("interrupt" | "kill")[] = [];
  let news = Promise.withResolvers<void>();
  let hasEnded = false;
  let isReading = true;
  let input = "";
  let stderrTail = "";
  let listener: (line: string) => void = () => {};

  function tellNews(): void {
    news.resolve();
    news = Promise.withResolvers<void>();
  }

  async function* read(): AsyncGenerator<string> {
    while (lines.length > 0 || !hasEnded) {
      const line = lines.shift();
      if (line === undefined) await news.promise;
      else yield line;
    }
  }

  const remote: FakeProgram = {
    command,
    env,
    signals,
    inputEnded: inputEnded.promise,
    input: () => input,
    print(...events) {
      lines.push(...events.map((event) => (typeof event === "string" ? event : JSON.stringify(event))));
      tellNews();
    },
    end(code, last = "") {
      if (hasEnded) return;
      stderrTail = last;
      hasEnded = true;
      tellNews();
      exit.resolve(code);
    },
    onLine(next) {
      listener = next;
    },
    stopReading() {
      isReading = false;
    },
  };
  const program: AgentProgram = {
    lines: read(),
    exit: exit.promise,
    get stderrTail() {
      return stderrTail;
    },
    async write(text) {
      if (hasEnded) throw new Error("write EPIPE");
      input += text;
      if (!isReading) return void (await exit.promise);
      for (const line of text.split("\n").filter(Boolean)) listener(line);
    },
    endInput: () => inputEnded.resolve(),
    interrupt: () => void signals.push("interrupt"),
    async kill() {
      signals.push("kill");
      remote.end(137);
    },
  };
  return { program, remote };
}
