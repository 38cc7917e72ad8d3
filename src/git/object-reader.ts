import { type InteractiveGit, startInteractiveGit } from "./interactive-git.ts";
import { createGitError, type GitStartOptions } from "./start-git.ts";

interface GitObjectFacts {
  readonly id: string;
  readonly type: string;
  readonly bytes: number;
}

/**
 * Reads many git objects through one git process, because starting a git process takes longer than a hundred
 * reads.
 */
export interface GitObjectReader extends AsyncDisposable {
  /**
   * Returns the ID, type and size of each object, in the order of the names; null for each object that the
   * repository does not have.
   */
  readFacts(names: readonly string[]): Promise<(GitObjectFacts | null)[]>;
  /** Yields the content of each object, whatever its type and size. The caller must check the sizes first. */
  readContents(ids: readonly string[]): AsyncGenerator<Buffer>;
}

/**
 * Reads the contents of git blobs with the given IDs. The content is null if the blob is larger than
 * `maxFileBytes`, or if the ID does not name a blob.
 */
export async function readSmallBlobs(
  objects: GitObjectReader,
  ids: readonly string[],
  maxFileBytes: number,
): Promise<ReadonlyMap<string, string | null>> {
  const unique = [...new Set(ids)].filter((id) => !/^0+$/.test(id));
  const found = new Map<string, string | null>(unique.map((id) => [id, null]));
  const facts = await objects.readFacts(unique);
  const small = facts.flatMap((fact) =>
    fact?.type === "blob" && fact.bytes <= maxFileBytes ? [fact.id] : [],
  );
  let at = 0;
  for await (const content of objects.readContents(small)) found.set(small[at++] ?? "", content.toString());
  return found;
}

/** The maximum number of requests to send to git before reading git's answers. */
const maxPending = 500;

/** Creates an object reader, which starts its git process at the first read. */
export function createGitObjectReader(args: readonly string[], start: GitStartOptions): GitObjectReader {
  let talk: InteractiveGit | undefined;
  /**
   * Resolves when the previous call of the reader has ended. Calls run one at a time, because git answers in
   * the order of the requests.
   */
  let last: Promise<unknown> = Promise.resolve();

  const ask = (command: "info" | "contents", names: readonly string[]): InteractiveGit => {
    talk ??= startInteractiveGit([...args, "cat-file", "--batch-command"], start);
    talk.write(names.map((name) => `${command} ${name}\n`).join(""));
    return talk;
  };

  /**
   * Waits until the previous call of the reader has ended. When the caller disposes the result, the next call
   * can start.
   */
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
      const found: (GitObjectFacts | null)[] = [];
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
            if (!facts) throw createGitError(["cat-file"], `the git object ${id} is missing`);
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
 * Parses a line `<id> <type> <size>` that git prints about an object. Returns null for any other line,
 * because git then has no such object.
 */
function factsIn(line: string): GitObjectFacts | null {
  const [, id, type, bytes] = /^([0-9a-f]{40,64}) ([a-z]+) (\d+)$/.exec(line) ?? [];
  return id === undefined || type === undefined ? null : { id, type, bytes: Number(bytes) };
}
