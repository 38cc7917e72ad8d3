import { expect, test } from "vitest";
import type { Containers, TerminalSession } from "../../../src/engine/containers.ts";

/** A container that was created, and goes with its disposal. */
type Prepare = () => Promise<AsyncDisposable & { readonly containers: Containers; readonly id: string }>;

/** What terminals in containers must do, in memory and for real, under every runtime. */
export function terminalFacts(prepared: Prepare): void {
  test("a program with a terminal has a window, is typed to, and gives its code", async () => {
    await using made = await prepared();
    const { containers, id } = made;
    await containers.start(id);
    await using terminal = await containers.openTerminal(id, {
      command: ["sh", "-c", "read -r _; stty size; read -r _; stty size; exit 3"],
      ...{ columns: 91, rows: 31 },
    });

    await terminal.write(Buffer.from("one\r"));
    const shown = readTerminal(terminal);
    await shown.until("31 91");
    await terminal.resize({ columns: 120, rows: 40 });
    await terminal.write(Buffer.from("two\r"));

    expect(await shown.whole()).toBe("one\r\n31 91\r\ntwo\r\n40 120\r\n");
    expect(await terminal.exit()).toEqual({ kind: "exited", code: 3 });
  });

  test("a terminal in a container that ends is lost, and an abort ends it with its own reason", async () => {
    await using made = await prepared();
    const { containers, id } = made;
    await containers.start(id);
    const spec = { command: ["sh", "-c", "read -r _"], columns: 80, rows: 24 };
    const stopping = new AbortController();
    await using left = await containers.openTerminal(id, spec, stopping.signal);
    const leftOutput = readTerminal(left).whole();

    stopping.abort(new Error("enough"));
    await expect(leftOutput).rejects.toThrow("enough");
    await using terminal = await containers.openTerminal(id, spec);
    const output = readTerminal(terminal).whole();
    await containers.stop(id, { graceMs: 0 });
    await output;

    expect(await terminal.exit()).toMatchObject({ kind: "lost" });
  });
}

/** What a terminal shows, from the beginning on. */
function readTerminal({ output }: TerminalSession): {
  until(text: string): Promise<void>;
  whole(): Promise<string>;
} {
  let shown = "";
  let more = Promise.withResolvers<void>();
  const reading = (async () => {
    for await (const bytes of output) {
      shown += Buffer.from(bytes).toString();
      more.resolve();
    }
    return shown;
  })();
  // Whoever waits for the whole is told.
  reading.catch(() => {});
  return {
    async until(text) {
      while (!shown.includes(text)) {
        await Promise.race([more.promise, reading.then(() => Promise.reject(new Error(`ended: ${shown}`)))]);
        more = Promise.withResolvers();
      }
    },
    whole: () => reading,
  };
}
