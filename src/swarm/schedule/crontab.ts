import { SwarmError } from "../../errors/errors.ts";

/**
 * Reads and writes the crontab of the user who runs swarm. Decodes the crontab as Latin-1, so that a change
 * of one line preserves the bytes of all other lines in any encoding.
 */
export interface Crontab {
  read(): Promise<string>;
  write(text: string): Promise<void>;
}

const limitMs = 20_000;

export function userCrontab(env: Readonly<Record<string, string | undefined>>): Crontab {
  const run = async (
    args: readonly string[],
    input = "",
  ): Promise<{ readonly exitCode: number; readonly stdout: string; readonly stderr: string }> => {
    const { execa } = await import("execa");
    // Set LC_ALL=C, because `read` looks for the English message "no crontab for".
    const bytes = Buffer.from(input, "latin1");
    const options = {
      env: { ...env, LC_ALL: "C" },
      extendEnv: false,
      reject: false,
      timeout: limitMs,
      input: bytes,
    };
    const { exitCode, stdout, stderr, code } = await execa("crontab", [...args], {
      ...options,
      stripFinalNewline: false,
      encoding: "buffer",
    });
    if (code === "ENOENT") throw new SwarmError("SCHEDULER_MISSING", {});
    const text = (output: Uint8Array): string => Buffer.from(output).toString("latin1");
    return { exitCode: exitCode ?? 1, stdout: text(stdout), stderr: text(stderr) };
  };

  return {
    async read() {
      const { exitCode, stdout, stderr } = await run(["-l"]);
      if (exitCode === 0) return stdout;
      if (/no crontab for/i.test(stderr)) return "";
      throw new SwarmError("SCHEDULE_FAILED", { action: "read", reason: reasonIn(stderr, exitCode) });
    },
    async write(text) {
      const { exitCode, stderr } = await run(text === "" ? ["-r"] : ["-"], text);
      if (exitCode !== 0)
        throw new SwarmError("SCHEDULE_FAILED", { action: "written", reason: reasonIn(stderr, exitCode) });
    },
  };
}

function reasonIn(stderr: string, exitCode: number): string {
  return stderr.trim().split("\n").at(-1) || `exit ${exitCode}`;
}
