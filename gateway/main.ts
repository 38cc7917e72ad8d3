import { once } from "node:events";
import { connect } from "node:net";
import packageFile from "../package.json" with { type: "json" };
import { gatewayPort } from "../src/egress/gateway-port.ts";
import { attachToSocket } from "../src/wire/attach-to-socket.ts";
import { controlSocketPath, gatewayPaths, sandboxSocketPath } from "./accounts/gateway-paths.ts";
import { runGateway } from "./run-gateway.ts";

const [command, ...args] = process.argv.slice(2);
const reportProblem = (line: string): void => void process.stderr.write(`gateway: ${line}\n`);

/**
 * The gateway's commands. The host runs `knock` in a short-lived test container, and all other commands in
 * the gateway's container.
 */
const commands: Readonly<Record<string, () => Promise<number>>> = {
  async serve() {
    const stopped = new AbortController();
    for (const signal of ["SIGTERM", "SIGINT"]) process.on(signal, () => stopped.abort());
    const addresses = args.map((transport) =>
      transport === "socket" ? { socket: sandboxSocketPath(gatewayPaths) } : { port: gatewayPort },
    );
    await runGateway({
      paths: gatewayPaths,
      addresses,
      version: packageFile.version,
      stopped: stopped.signal,
      complain: reportProblem,
    });
    return 0;
  },

  async admit() {
    const from = args[0] === "--from" ? Number(args[1]) : 0;
    if (!Number.isSafeInteger(from) || from < 0 || (args.length > 0 && args.length !== 2)) {
      reportProblem("admit --from takes the number of the last line that the caller has received: 0, 1, 2 …");
      return 2;
    }
    return attachToSocket(controlSocketPath(gatewayPaths), from, {
      input: process.stdin,
      output: process.stdout,
      reportProblem,
    });
  },

  /** Checks that the gateway's Unix socket accepts connections from a sandbox. */
  async knock() {
    const socket = connect(sandboxSocketPath(gatewayPaths));
    try {
      await once(socket, "connect");
    } catch (error) {
      reportProblem((error as Error).message);
      return 1;
    }
    process.stdout.write("open\n");
    socket.destroy();
    return 0;
  },
};

const work = commands[command ?? ""];
if (work) process.exit(await work());
else {
  reportProblem(
    `unknown command ${JSON.stringify(command ?? "")}; known: ${Object.keys(commands).join(", ")}`,
  );
  process.exitCode = 2;
}
