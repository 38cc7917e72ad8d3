import { EventEmitter } from "node:events";
import { PassThrough } from "node:stream";
import { describe, expect, test } from "vitest";
import { type TerminalStreams, type UserTerminal, userTerminal } from "../../../src/cli/user-terminal.ts";
import { fakeTerminal } from "../../fakes/engine/fake-terminal.ts";

/** The two sides of a terminal, in memory. */
class Keyboard extends PassThrough {
  isTTY = true;
  isRaw = false;
  setRawMode(isRaw: boolean): this {
    this.isRaw = isRaw;
    return this;
  }
}

class Screen extends EventEmitter {
  isTTY = true;
  columns = 91;
  rows = 31;
  shown = "";
  onShown: (shown: string) => void = () => {};
  write(bytes: Uint8Array): boolean {
    this.shown += Buffer.from(bytes).toString();
    this.onShown(this.shown);
    return true;
  }
}

function terminalOf(): { keyboard: Keyboard; screen: Screen; terminal: UserTerminal } {
  const [keyboard, screen] = [new Keyboard(), new Screen()];
  const streams = { stdin: keyboard, stdout: screen, setPlain: () => {} } as unknown as TerminalStreams;
  const terminal = userTerminal(streams);
  if (!terminal) throw new Error("it is a terminal");
  return { keyboard, screen, terminal };
}

const never = new Promise<string>(() => {});

function listenersOf(...emitters: readonly EventEmitter[]): number {
  return emitters
    .flatMap((emitter) => ["data", "error", "resize", "SIGHUP"].map((event) => emitter.listenerCount(event)))
    .reduce((sum, count) => sum + count, 0);
}

describe("a user's terminal", () => {
  test("is given to a program and comes back as it was", async () => {
    const { keyboard, screen, terminal } = terminalOf();
    const before = listenersOf(keyboard, screen, process);
    const session = fakeTerminal(
      { command: ["sh", "-c", "read -r _; stty size; read -r _; stty size; exit 3"], columns: 1, rows: 1 },
      never,
    );
    const wasRaw: boolean[] = [];
    screen.onShown = (shown) => {
      wasRaw.push(keyboard.isRaw);
      if (!shown.endsWith("31 91\r\n")) return;
      Object.assign(screen, { columns: 120, rows: 40 });
      screen.emit("resize");
      keyboard.write("two\r");
    };

    keyboard.write("one\r");
    await terminal.connect(session, () => {});

    expect(screen.shown).toBe("one\r\n31 91\r\ntwo\r\n40 120\r\n");
    expect(await session.exit()).toEqual({ kind: "exited", code: 3 });
    expect(new Set(wasRaw)).toEqual(new Set([true]));
    expect([keyboard.isRaw, keyboard.destroyed]).toEqual([false, true]);
    expect(listenersOf(keyboard, screen, process)).toBe(before);
  });

  test("comes back when the program is lost, too", async () => {
    const { keyboard, terminal } = terminalOf();
    const stopping = new AbortController();
    const session = fakeTerminal(
      { command: ["sh", "-c", "read -r _"], columns: 80, rows: 24 },
      never,
      stopping.signal,
    );

    const given = terminal.connect(session, () => {});
    stopping.abort(new Error("enough"));

    await expect(given).rejects.toThrow("enough");
    expect(keyboard.isRaw).toBe(false);
  });

  test.for<[what: string, act: (keyboard: Keyboard, screen: Screen) => unknown]>([
    ["its input ends", (keyboard) => keyboard.end()],
    ["its input breaks", (keyboard) => keyboard.emit("error", new Error("EIO"))],
    ["its output breaks", (_, screen) => screen.emit("error", new Error("EIO"))],
    ["its window is closed", () => process.emit("SIGHUP")],
  ])("that is gone because %s is told of", { timeout: 5_000 }, async ([, act]) => {
    const { keyboard, screen, terminal } = terminalOf();
    const leaving = new AbortController();
    const session = fakeTerminal(
      { command: ["sh", "-c", "read -r _"], columns: 80, rows: 24 },
      never,
      leaving.signal,
    );

    const given = terminal.connect(session, (error) => leaving.abort(error));
    act(keyboard, screen);

    await expect(given).rejects.toThrow("the user's terminal was closed");
  });

  test("is none where in- or output go somewhere else", () => {
    for (const change of [{ stdin: { isTTY: false } }, { stdout: { isTTY: undefined } }]) {
      const streams = { stdin: new Keyboard(), stdout: new Screen(), ...change };
      expect(userTerminal(streams as unknown as TerminalStreams)).toBeNull();
    }
  });
});
