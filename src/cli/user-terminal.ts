import { spawnSync } from "node:child_process";
import type { TerminalSession, TerminalSize } from "../ports/containers.ts";

/** The terminal of whoever typed the command. */
export interface UserTerminal {
  size(): TerminalSize;
  /**
   * Gives it to a program: what is typed goes there as it is, Ctrl-C too, and what that writes is shown, until it ends. Whatever
   * happens, the terminal is as it was afterwards. `onGone` is called where it goes away itself.
   */
  giveTo(
    session: Pick<TerminalSession, "write" | "output" | "resize">,
    onGone: (error: unknown) => void,
  ): Promise<void>;
}

type Emitter = Pick<NodeJS.EventEmitter, "on" | "off">;

/** What it takes of a process's streams. */
export interface TerminalStreams {
  readonly stdin: Emitter & Pick<NodeJS.ReadStream, "isTTY" | "setRawMode" | "resume" | "destroy">;
  readonly stdout: Emitter & Pick<NodeJS.WriteStream, "isTTY" | "columns" | "rows" | "write">;
  /** Lets the terminal show what is written without changing it, until its mode is set again. */
  readonly setPlain: () => void;
}

/**
 * In what Node calls raw mode, terminals still turn each line feed into the beginning of a line, which programs that draw do not
 * expect. Where there is no `stty`, it has to do.
 */
export function setOutputPlain(): void {
  spawnSync("stty", ["-opost"], { stdio: ["inherit", "ignore", "ignore"] });
}

/** Null where in- and output are not both a terminal. */
export function userTerminal({ stdin, stdout, setPlain }: TerminalStreams): UserTerminal | null {
  if (!stdin.isTTY || !stdout.isTTY) return null;
  const size = (): TerminalSize => ({ columns: stdout.columns || 80, rows: stdout.rows || 24 });
  return {
    size,

    async giveTo(session, onGone) {
      const type = (bytes: Uint8Array): void => void session.write(bytes).catch(onGone);
      const resize = (): void => void session.resize(size()).catch(onGone);
      const gone = (): void => onGone(new Error("the terminal is gone"));
      using undo = new DisposableStack();
      // An open terminal would keep the process waiting for words that nobody reads.
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
      // It may have changed before anybody listened.
      resize();
      for await (const bytes of session.output) if (!stdout.write(bytes)) await roomIn(stdout);
    },
  };
}

function listen(target: Emitter, event: string, listener: (bytes: Uint8Array) => void): Disposable {
  target.on(event, listener);
  return { [Symbol.dispose]: () => void target.off(event, listener) };
}

/** Until it takes more, or nobody is there any more. */
async function roomIn(stdout: Emitter): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  using undo = new DisposableStack();
  for (const event of ["drain", "close", "error"]) undo.use(listen(stdout, event, () => resolve()));
  await promise;
}
