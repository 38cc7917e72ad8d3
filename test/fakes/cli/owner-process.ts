import { createBackgroundOwnerCommand } from "../../../src/cli/detached-owner.ts";
import { SwarmError } from "../../../src/errors/errors.ts";

/** A process that was left in the background, whose work is told by its first word. */
const handler = createBackgroundOwnerCommand({
  // Goes on until it is told that nobody listens any more, and only then has something to say.
  slow: async ({ onBegun }) => {
    await new Promise((resolve) => {
      process.stdin.on("end", resolve).resume();
    });
    onBegun?.("the swarm");
    onBegun?.("the swarm once more");
    return 0;
  },
  begins: async ({ onBegun }) => {
    onBegun?.("the swarm");
    return 5;
  },
  nothing: async () => 0,
  refused: () => Promise.reject(new SwarmError("OWNED_BY_ANOTHER", { holder: "somebody" })),
  breaks: () => Promise.reject(new TypeError("a mistake of ours")),
});

process.exitCode = await handler({} as never, [process.argv[2]], {}).catch(() => 1);
