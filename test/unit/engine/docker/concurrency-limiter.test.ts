import { setImmediate as nextTurn } from "node:timers/promises";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  createConcurrencyLimiter,
  type LimitedCallOptions,
} from "../../../../src/engine/docker/concurrency-limiter.ts";

const enough = new Error("enough");

/** Work that begins when it is let in, and ends when it is told to. */
function workLog(limited: ReturnType<typeof createConcurrencyLimiter>) {
  const begun: string[] = [];
  const endings = new Map<string, PromiseWithResolvers<void>>();
  return {
    begun,
    begin(name: string, turn: LimitedCallOptions = {}): Promise<string> {
      return limited(async () => {
        begun.push(name);
        const ending = Promise.withResolvers<void>();
        endings.set(name, ending);
        await ending.promise;
        return name;
      }, turn);
    },
    async end(name: string): Promise<void> {
      endings.get(name)?.resolve();
      await nextTurn();
    },
    async fail(name: string): Promise<void> {
      endings.get(name)?.reject(new Error(`${name} failed`));
      await nextTurn();
    },
  };
}

describe("so many at once", () => {
  test("never more, and everything gets its turn", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.integer({ min: 1, max: 5 }),
        fc.array(fc.tuple(fc.integer({ min: 1, max: 4 }), fc.boolean()), { maxLength: 30 }),
        async (width, works) => {
          const limited = createConcurrencyLimiter(async () => width);
          let running = 0;
          let most = 0;

          const results = await Promise.allSettled(
            works.map(([turns, fails], index) =>
              limited(async () => {
                running += 1;
                most = Math.max(most, running);
                for (let turn = 0; turn < turns; turn += 1) await nextTurn();
                running -= 1;
                if (fails) throw enough;
                return index;
              }),
            ),
          );

          expect(results).toEqual(
            works.map(([, fails], value) =>
              fails ? { status: "rejected", reason: enough } : { status: "fulfilled", value },
            ),
          );
          expect(most).toBe(Math.min(width, works.length));
        },
      ),
    );
  });

  test("the others wait in the order in which they came", async () => {
    const { begin, begun, end } = workLog(createConcurrencyLimiter(async () => 1));
    const all = ["a", "b", "c", "d"].map((name) => begin(name));
    await nextTurn();

    expect(begun).toEqual(["a"]);
    for (const name of ["a", "b", "c", "d"]) await end(name);

    expect(begun).toEqual(["a", "b", "c", "d"]);
    expect(await Promise.all(all)).toEqual(["a", "b", "c", "d"]);
  });

  test("who is to be first goes before all that are not, in the order of their kind", async () => {
    const { begin, begun, end } = workLog(createConcurrencyLimiter(async () => 1));
    const all = ["made 1", "made 2", "made 3"].map((name) => begin(name));
    await nextTurn();
    all.push(...["started 1", "started 2"].map((name) => begin(name, { isPriority: true })));
    await nextTurn();

    for (const name of ["made 1", "started 1", "started 2", "made 2", "made 3"]) await end(name);

    expect(begun).toEqual(["made 1", "started 1", "started 2", "made 2", "made 3"]);
    await Promise.all(all);
  });

  test("who is to be first and gives up leaves the way to the others", async () => {
    const { begin, begun, end } = workLog(createConcurrencyLimiter(async () => 1));
    const stopping = new AbortController();
    const [first, urgent, other] = [
      begin("first"),
      begin("urgent", { isPriority: true, signal: stopping.signal }),
      begin("other"),
    ];
    await nextTurn();

    stopping.abort(enough);
    await expect(urgent).rejects.toBe(enough);
    await end("first");
    await end("other");

    expect(begun).toEqual(["first", "other"]);
    await Promise.all([first, other]);
  });

  test("work that fails gives its place back, and its failure to its caller alone", async () => {
    const { begin, begun, end, fail } = workLog(createConcurrencyLimiter(async () => 1));
    const [bad, good] = [begin("bad"), begin("good")];
    const failure = expect(bad).rejects.toThrow("bad failed");
    await nextTurn();

    await fail("bad");
    await failure;
    expect(begun).toEqual(["bad", "good"]);
    await end("good");

    expect(await good).toBe("good");
  });

  test("when nobody knows how many, that is the failure, and the next try is not hindered by it", async () => {
    const answers = [Promise.reject(enough), Promise.resolve(1), Promise.resolve(1)];
    const limited = createConcurrencyLimiter(async () => answers.shift() ?? 1);

    await expect(limited(async () => "never")).rejects.toBe(enough);

    expect(await Promise.all([limited(async () => "one"), limited(async () => "two")])).toEqual([
      "one",
      "two",
    ]);
  });
});

describe("giving up", () => {
  test("before it began, nothing runs", async () => {
    const { begin, begun } = workLog(createConcurrencyLimiter(async () => 1));

    await expect(begin("late", { signal: AbortSignal.abort(enough) })).rejects.toBe(enough);

    expect(begun).toEqual([]);
  });

  test("while it is still asked how many may run, nothing runs", async () => {
    const asked = Promise.withResolvers<number>();
    const { begin, begun } = workLog(createConcurrencyLimiter(() => asked.promise));
    const stopping = new AbortController();
    const late = begin("late", { signal: stopping.signal });

    stopping.abort(enough);
    asked.resolve(1);

    await expect(late).rejects.toBe(enough);
    expect(begun).toEqual([]);
  });

  test("while waiting: at once, with its own reason, and those behind move up", async () => {
    const { begin, begun, end } = workLog(createConcurrencyLimiter(async () => 1));
    const stopping = new AbortController();
    const [first, second, third] = [
      begin("first"),
      begin("second", { signal: stopping.signal }),
      begin("third"),
    ];
    await nextTurn();

    stopping.abort(enough);
    await expect(second).rejects.toBe(enough);
    expect(begun).toEqual(["first"]);
    await end("first");
    await end("third");

    expect(await Promise.all([first, third])).toEqual(["first", "third"]);
    expect(begun).toEqual(["first", "third"]);
  });

  test("while it runs is the work's own affair, and frees the place only when the work ends", async () => {
    const { begin, begun, end } = workLog(createConcurrencyLimiter(async () => 1));
    const stopping = new AbortController();
    const [first, second] = [begin("first", { signal: stopping.signal }), begin("second")];
    await nextTurn();

    stopping.abort(enough);
    await nextTurn();
    expect(begun).toEqual(["first"]);
    await end("first");
    await end("second");

    expect(await Promise.all([first, second])).toEqual(["first", "second"]);
  });

  test("in the very moment of being called in takes nobody else's turn away", async () => {
    const limited = createConcurrencyLimiter(async () => 2);
    const gate = Promise.withResolvers<void>();
    const stopping = new AbortController();
    const running = [
      limited(() => gate.promise),
      // Ends in the same turn as the one above, when its place is already promised to `called`.
      limited(async () => {
        await gate.promise;
        stopping.abort(enough);
      }),
    ];
    await nextTurn();
    const called = limited(async () => "called", { signal: stopping.signal });
    const behind = limited(async () => "behind");
    await nextTurn();

    gate.resolve();

    await Promise.all(running);
    expect(await behind).toBe("behind");
    expect(await called).toBe("called");
  });
});
