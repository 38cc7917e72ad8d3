import { sendMessages } from "./message-path.ts";

/** node --expose-gc message-path-process.ts <count> <per second>: what `sendMessages` measured, with this process as the host. */
const [count = "0", perSecond = "0"] = process.argv.slice(2);
process.stdout.write(
  `${JSON.stringify(await sendMessages(Number(count), { perSecond: Number(perSecond) }))}\n`,
);
process.exit();
