import { findProgram } from "./engine-packages.ts";
import type { Environment } from "./user-folders.ts";

interface DaemonRuntime {
  readonly path: string;
  readonly runtimeArgs?: readonly string[];
}

/** The runtimes besides runc that this machine has, as `daemon.json` wants them. Whether they work is measured later. */
export async function daemonRuntimes(env: Environment): Promise<Record<string, DaemonRuntime>> {
  const [gvisor, sysbox] = await Promise.all([findProgram("runsc", env), findProgram("sysbox-runc", env)]);
  return {
    ...(gvisor && { runsc: { path: gvisor, runtimeArgs: await gvisorArgs(gvisor) } }),
    ...(sysbox && { "sysbox-runc": { path: sysbox } }),
  };
}

/**
 * A gVisor that knows the systrap platform needs no help. Older ones (Debian 12's) want ptrace, and the network stack of
 * the container's own namespace, since theirs does not start on newer kernels.
 */
async function gvisorArgs(program: string): Promise<string[]> {
  const { execa } = await import("execa");
  const { stdout, stderr } = await execa(program, ["flags"], { reject: false });
  const flags = `${stdout}\n${stderr}`;
  const platform = flags.includes("systrap") ? [] : ["--platform=ptrace", "--network=host"];
  // Its own overlay would lose the workspace at every stop.
  return flags.includes("-overlay2") ? [...platform, "--overlay2=none"] : platform;
}
