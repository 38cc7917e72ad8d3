import { PassThrough } from "node:stream";
import type {
  ExecExit,
  TerminalSession,
  TerminalSize,
  TerminalSpec,
} from "../../../src/engine/containers.ts";

/**
 * A terminal in memory, whose program is `sh -c` with the words `read`, `stty size` and `exit n`. It shows what is typed.
 * `ended` resolves with what its container became, when that ends.
 */
export function fakeTerminal(
  { command, columns, rows }: TerminalSpec,
  ended: Promise<string>,
  signal?: AbortSignal,
): TerminalSession {
  let size: TerminalSize = { columns, rows };
  let typed = Promise.withResolvers<void>();
  const shown = new PassThrough();
  const steps = (command[2] ?? "").split(";").map((step) => step.trim());

  const carryOut = async (): Promise<ExecExit> => {
    for (const step of steps) {
      if (step.startsWith("read")) await typed.promise;
      if (step === "stty size") shown.write(`${size.rows} ${size.columns}\r\n`);
      const [, code] = /^exit (\d+)$/.exec(step) ?? [];
      if (code !== undefined) return { kind: "exited", code: Number(code) };
    }
    return { kind: "exited", code: 0 };
  };
  const lost = ended.then((state): ExecExit => ({ kind: "lost", reason: `the container is ${state}` }));
  const finished = Promise.race([carryOut(), lost]);
  void finished.then(() => shown.end());
  signal?.addEventListener("abort", () => shown.destroy(signal.reason), { once: true });

  return {
    async write(bytes) {
      const text = Buffer.from(bytes).toString();
      shown.write(text.replaceAll("\r", "\r\n"));
      if (!text.includes("\r")) return;
      typed.resolve();
      typed = Promise.withResolvers();
    },
    async resize(now) {
      size = now;
    },
    output: shown,
    exit: () => finished,
    [Symbol.asyncDispose]: async () => {},
  };
}
