import { spawnSync } from "node:child_process";
import type { TerminalSession, TerminalSize } from "../ports/containers.ts";

/** The terminal of the user who typed the command. */
export interface UserTerminal {
  size(): TerminalSize;
  /**
   * Connects the terminal to a program until the program ends: passes all input unchanged, Ctrl-C too, and shows the
   * output. It always restores the terminal's mode. `onGone` is called when the terminal itself goes away.
   */
  connect(
    session: Pick<TerminalSession, "write" | "output" | "resize">,
    onGone: (error: unknown) => void,
  ): Promise<void>;
}

type Emitter = Pick<NodeJS.EventEmitter, "on" | "off">;

/** The parts used of a process's streams. */
export interface TerminalStreams {
  readonly stdin: Emitter & Pick<NodeJS.ReadStream, "isTTY" | "setRawMode" | "resume" | "destroy">;
  readonly stdout: Emitter & Pick<NodeJS.WriteStream, "isTTY" | "columns" | "rows" | "write">;
  /** Turns off the terminal's output processing, until its mode is set again. */
  readonly setPlain: () => void;
}

/**
 * Node's raw mode leaves output processing on: the terminal adds a carriage return to each line feed, which breaks
 * programs that draw. Without `stty` this has no effect.
 */
export function setOutputPlain(): void {
  spawnSync("stty", ["-opost"], { stdio: ["inherit", "ignore", "ignore"] });
}

/** The user's terminal; null unless both input and output are one. */
export function userTerminal({ stdin, stdout, setPlain }: TerminalStreams): UserTerminal | null {
  if (!stdin.isTTY || !stdout.isTTY) return null;
  const size = (): TerminalSize => ({ columns: stdout.columns || 80, rows: stdout.rows || 24 });
  return {
    size,

    async connect(session, onGone) {
      const type = (bytes: Uint8Array): void => void session.write(bytes).catch(onGone);
      const resize = (): void => void session.resize(size()).catch(onGone);
      const gone = (): void => onGone(new Error("the terminal is gone"));
      using undo = new DisposableStack();
      // An open stdin would keep the process alive.
      undo.defer(() => stdin.destroy());
      for (const event of ["end", "error"]) undo.use(listen(stdin, event, gone));
      undo.use(listen(stdout, "error", gone));
      undo.use(listen(process, "SIGHUP", gone));
      undo.use(listen(stdout, "resize", resize));
      stdin.setRawMode(true);
      undo.defer(() => stdin.setRawMode(false));
      setPlain();
      undo.use(listen(stdin, "data", type));
      stdin.resume();
      // The size may have changed before the listener was added.
      resize();
      for await (const bytes of session.output) if (!stdout.write(bytes)) await drained(stdout);
    },
  };
}

function listen(target: Emitter, event: string, listener: (bytes: Uint8Array) => void): Disposable {
  target.on(event, listener);
  return { [Symbol.dispose]: () => void target.off(event, listener) };
}

/** Resolves when the stream accepts more, has closed or has failed. */
async function drained(stdout: Emitter): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  using undo = new DisposableStack();
  for (const event of ["drain", "close", "error"]) undo.use(listen(stdout, event, () => resolve()));
  await promise;
}
