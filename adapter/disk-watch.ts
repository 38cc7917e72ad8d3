import { runAsAgent } from "./agent-user.ts";
import type { Places } from "./places.ts";

export interface DiskUse {
  readonly homeBytes: number;
  readonly totalBytes: number;
}

const kibi = 1024;

/** What the agent's user wrote, measured by that user: root may not look there. Null when it could not be measured. */
export async function measureDisk(
  { workspace, home }: Places,
  env: Readonly<Record<string, string>>,
  signal: AbortSignal,
): Promise<DiskUse | null> {
  const command = ["du", "-skx", home, workspace, "/tmp", "/var/tmp"];
  const { stdout } = await runAsAgent({ command, env, folder: "/", keep: 10_000 }, signal);
  // A file that goes away meanwhile makes du complain, and changes nothing.
  const bytesByPath = new Map(
    stdout.split("\n").flatMap((line) => {
      const [, size, path] = /^(\d+)\s+(.+)$/.exec(line) ?? [];
      return size && path ? [[path, Number(size) * kibi] as const] : [];
    }),
  );
  const homeBytes = bytesByPath.get(home);
  if (homeBytes === undefined) return null;
  return { homeBytes, totalBytes: [...bytesByPath.values()].reduce((sum, bytes) => sum + bytes, 0) };
}
