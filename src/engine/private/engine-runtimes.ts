import { findProgram } from "../../machine/engine-packages.ts";
import type { EnvironmentVariables } from "../../machine/user-folders.ts";

interface DaemonRuntime {
  readonly path: string;
  readonly runtimeArgs?: readonly string[];
}

/**
 * Finds the container runtimes other than runc that are installed on this machine, in the format of Docker's
 * `daemon.json`. Swarm probes later whether they work.
 */
export async function daemonRuntimes(env: EnvironmentVariables): Promise<Record<string, DaemonRuntime>> {
  const [gvisor, sysbox] = await Promise.all([findProgram("runsc", env), findProgram("sysbox-runc", env)]);
  return {
    ...(gvisor && { runsc: { path: gvisor, runtimeArgs: await gvisorArgs(gvisor) } }),
    ...(sysbox && { "sysbox-runc": { path: sysbox } }),
  };
}

/**
 * Returns the arguments for gVisor's `runsc` program. Versions without the systrap platform, as in Debian 12,
 * need ptrace and the kernel's network stack, because gVisor's own stack does not start on newer kernels.
 */
async function gvisorArgs(program: string): Promise<string[]> {
  const { execa } = await import("execa");
  const { stdout, stderr } = await execa(program, ["flags"], { reject: false });
  const flags = `${stdout}\n${stderr}`;
  const platform = flags.includes("systrap") ? [] : ["--platform=ptrace", "--network=host"];
  // gVisor's own overlay would lose the workspace whenever the container stops.
  return flags.includes("-overlay2") ? [...platform, "--overlay2=none"] : platform;
}
