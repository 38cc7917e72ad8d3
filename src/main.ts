import { version } from "./cli/version.ts";
import { quickStatus } from "./quick-status.ts";

// What prompts, scripts and hooks ask all the time is answered here, from one file; the rest is loaded for the rest.
const words: readonly string[] = process.argv.slice(2);

// `swarm … | head` closes our output early, which is no failure.
for (const stream of [process.stdout, process.stderr]) {
  stream.on("error", (error: NodeJS.ErrnoException) => {
    if (error.code === "EPIPE") return;
    // A full disk behind our output: there is nowhere left to say more.
    process.exitCode = 3;
  });
}

if (words.length === 1 && (words[0] === "--version" || words[0] === "-V")) {
  process.stdout.write(`${version}\n`);
} else {
  void quickStatus(words, process.env).then(async (isAnswered) => {
    if (isAnswered) return;
    const { runWholeProgram } = await import("./whole-program.ts");
    process.exitCode = await runWholeProgram(words);
  });
}
