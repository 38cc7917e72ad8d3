import { SwarmError } from "../domain/errors.ts";
import type { GitStartOptions } from "./start-git.ts";
import { type InteractiveGit, startInteractiveGit } from "./talk-to-git.ts";

export interface ObjectFacts {
  readonly id: string;
  readonly type: string;
  readonly bytes: number;
}

/**
 * Reads git objects through a single git process, because starting a process takes longer than a hundred
 * requests.
 */
export interface ObjectReader extends AsyncDisposable {
  /**
   * Returns the facts about each object, in the order of the names; null if this repository has no such
   * object.
   */
  readFacts(names: readonly string[]): Promise<(ObjectFacts | null)[]>;
  /** Yields the content of each object, of any type and size. The caller must check the sizes first. */
  readContents(ids: readonly string[]): AsyncGenerator<Buffer>;
}

/** The maximum number of requests to write before reading their answers. */
const maxPending = 500;

/** Creates an object reader. It starts its git process at the first request. */
export function createObjectReader(args: readonly string[], start: GitStartOptions): ObjectReader {
  let talk: InteractiveGit | undefined;
  /**
   * Resolves when the previous call has ended. git answers in the order of the requests, so calls run one at
   * a time.
   */
  let last: Promise<unknown> = Promise.resolve();

  const ask = (command: "info" | "contents", names: readonly string[]): InteractiveGit => {
    talk ??= startInteractiveGit([...args, "cat-file", "--batch-command"], start);
    talk.write(names.map((name) => `${command} ${name}\n`).join(""));
    return talk;
  };

  /** Waits for the previous call. Disposing the result lets the next call start. */
  const turn = async (): Promise<Disposable> => {
    const { promise, resolve } = Promise.withResolvers<void>();
    const before = last;
    last = promise;
    await before;
    return { [Symbol.dispose]: resolve };
  };

  return {
    async readFacts(names) {
      using _turn = await turn();
      const found: (ObjectFacts | null)[] = [];
      for (const some of slices(names)) {
        const { line } = ask("info", some);
        for (const _ of some) found.push(factsIn(await line()));
      }
      return found;
    },

    async *readContents(ids) {
      using _turn = await turn();
      for (const some of slices(ids)) {
        const { line, bytes } = ask("contents", some);
        let left = some.length;
        try {
          for (const id of some) {
            const facts = factsIn(await line());
            if (!facts)
              throw new SwarmError("GIT_FAILED", {
                command: "cat-file",
                reason: `the git object ${id} is missing`,
              });
            const content = await bytes(facts.bytes);
            await bytes("\n".length);
            left -= 1;
            yield content;
          }
        } finally {
          // End git, because the next call would read the unread answers as its own.
          if (left > 0) await end();
        }
      }
    },

    [Symbol.asyncDispose]: end,
  };

  async function end(): Promise<void> {
    const ended = talk;
    talk = undefined;
    await ended?.end();
  }
}

function* slices(names: readonly string[]): Generator<readonly string[]> {
  for (let at = 0; at < names.length; at += maxPending) yield names.slice(at, at + maxPending);
}

/**
 * Parses git's answer `<id> <type> <size>`. Returns null for any other answer, with which git says that there
 * is no such object.
 */
function factsIn(line: string): ObjectFacts | null {
  const [, id, type, bytes] = /^([0-9a-f]{40,64}) ([a-z]+) (\d+)$/.exec(line) ?? [];
  return id === undefined || type === undefined ? null : { id, type, bytes: Number(bytes) };
}
