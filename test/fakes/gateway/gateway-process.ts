import type { GatewayServerLimits } from "../../../gateway/front/gateway-server.ts";
import { admissionOf, admittedWorker, endpointAt, startGateway } from "./gateway.ts";

/** A gateway in a process of its own: tells where its door is, and whenever it is asked, how much memory it takes. */
const [folder = "", upstream = "", bounds = "{}"] = process.argv.slice(2);
const gateway = await startGateway(folder, { bounds: JSON.parse(bounds) as Partial<GatewayServerLimits> });
const workers = [admittedWorker("one"), admittedWorker("good")];
await gateway.admit(admissionOf([endpointAt(upstream)], { workers }));
process.on("message", () => {
  globalThis.gc?.();
  process.send?.({ rss: process.memoryUsage().rss });
});
process.send?.({ door: gateway.door });
