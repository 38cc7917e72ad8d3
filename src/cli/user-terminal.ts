import { spawnSync } from "node:child_process";
import type { TerminalSession, TerminalSize } from "../engine/containers.ts";

/** The terminal in which the user runs swarm. */
export interface UserTerminal {
  size(): TerminalSize;
  /**
   * Connects the user's terminal to a program in a sandbox until the program ends, and then restores the
   * terminal's mode. Passes on all input, even Ctrl-C. Calls `onGone` if the terminal or the connection to
   * the program is lost.
   */
  connect(
    session: Pick<TerminalSession, "write" | "output" | "resize">,
    onGone: (error: unknown) => void,
  ): Promise<void>;
}

type Emitter = Pick<NodeJS.EventEmitter, "on" | "off">;

/** The properties of swarm's stdin and stdout that connecting the terminal requires. */
export interface TerminalStreams {
  readonly stdin: Emitter & Pick<NodeJS.ReadStream, "isTTY" | "setRawMode" | "resume" | "destroy">;
  readonly stdout: Emitter & Pick<NodeJS.WriteStream, "isTTY" | "columns" | "rows" | "write">;
  /**
   * Turns off the terminal's output processing. Each later change of the terminal's mode, for example with
   * `setRawMode`, turns it on again.
   */
  readonly setPlain: () => void;
}

/**
 * Turns off the terminal's output processing, which Node's raw mode leaves on. It would put a carriage return
 * before each line feed, which breaks full-screen programs. Does nothing if `stty` is missing.
 */
export function disableOutputProcessing(): void {
  spawnSync("stty", ["-opost"], { stdio: ["inherit", "ignore", "ignore"] });
}

/** Returns the user's terminal, or null unless both stdin and stdout are terminals. */
export function userTerminal({ stdin, stdout, setPlain }: TerminalStreams): UserTerminal | null {
  if (!stdin.isTTY || !stdout.isTTY) return null;
  const size = (): TerminalSize => ({ columns: stdout.columns || 80, rows: stdout.rows || 24 });
  return {
    size,

    async connect(session, onGone) {
      const type = (bytes: Uint8Array): void => void session.write(bytes).catch(onGone);
      const resize = (): void => void session.resize(size()).catch(onGone);
      const gone = (): void => onGone(new Error("the user's terminal was closed"));
      using undo = new DisposableStack();
      // An open stdin would keep this process alive.
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
      // The terminal's size may have changed before the `resize` listener was added.
      resize();
      for await (const bytes of session.output) if (!stdout.write(bytes)) await drained(stdout);
    },
  };
}

function listen(target: Emitter, event: string, listener: (bytes: Uint8Array) => void): Disposable {
  target.on(event, listener);
  return { [Symbol.dispose]: () => void target.off(event, listener) };
}

/** Resolves when the stream can take more data, has closed, or has failed. */
async function drained(stdout: Emitter): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  using undo = new DisposableStack();
  for (const event of ["drain", "close", "error"]) undo.use(listen(stdout, event, () => resolve()));
  await promise;
}
