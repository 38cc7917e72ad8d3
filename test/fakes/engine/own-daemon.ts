import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { eventually } from "../eventually.ts";
import { answers } from "./engine-at.ts";

export interface OwnDaemon extends AsyncDisposable {
  readonly endpoint: string;
}

/** A Docker daemon with settings of its own and without any network, in a folder that is empty. */
export async function openDaemon(folder: string, settings: object): Promise<OwnDaemon> {
  mkdirSync(folder, { recursive: true });
  const config = join(folder, "daemon.json");
  writeFileSync(config, JSON.stringify(settings));
  const endpoint = `unix://${folder}/docker.sock`;
  const flags = [
    ...["--config-file", config, "--host", endpoint, "--pidfile", join(folder, "pid")],
    ...["--data-root", join(folder, "data"), "--exec-root", join(folder, "exec")],
    ...["--bridge", "none", "--iptables=false", "--ip6tables=false"],
  ];
  const log = join(folder, "log");
  // With control groups of both kinds mounted, crun refuses to start.
  const script = 'umount /sys/fs/cgroup/unified 2>"$0"; exec dockerd "$@" 2>"$0"';
  const daemon = spawn("unshare", ["--mount", "sh", "-c", script, log, ...flags], { stdio: "ignore" });
  const look = async (): Promise<true | null> => {
    if (daemon.exitCode !== null) throw new Error(readFileSync(log, "utf8"));
    return (await answers(endpoint)) || null;
  };
  await eventually("the daemon answers", look, 60_000);
  return {
    endpoint,
    async [Symbol.asyncDispose]() {
      const gone = once(daemon, "exit");
      daemon.kill("SIGTERM");
      await gone;
    },
  };
}
