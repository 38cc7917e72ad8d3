import { spawnSync } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { buildIfChanged } from "./build.ts";
import { root } from "./processes.ts";
import { makeSample } from "./sample-repository.ts";

const program = join(root, "bin", "swarm");

process.exitCode = await demo();

/** Runs the longest real path: an engine, images, a sandbox with two tasks, and a repository whose task files a swarm runs. */
async function demo(): Promise<number> {
  console.log(
    "This builds swarm, finds or starts a container engine (on Debian and Ubuntu as root it installs Docker Engine's packages if they are missing), builds the image of sandboxes, runs two small tasks in a sandbox of its own, and carries out the task files of a sample repository with a scripted agent.\n",
  );
  await buildIfChanged();

  say("An engine, and what its runtimes really isolate");
  const doctor = swarm(root, "doctor", "--fix", "--yes");
  if (doctor !== 0) return doctor;

  const folder = await mkdtemp(join(tmpdir(), "swarm-sample-"));
  try {
    return await showSample(join(folder, "sample"));
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

async function showSample(sample: string): Promise<number> {
  say("A sample repository with three task files; one waits for another's result");
  await makeSample(sample);
  const planned = swarm(sample, "plan");
  if (planned !== 0) return planned;

  say("A sealed sandbox: two tasks, a Python and a Node program, and what they make of a few inputs");
  const inSandbox = runAll(sample, [
    ["sandbox", "up", "--spec", "sandbox/sandbox.yaml"],
    ["sandbox", "run", "sandbox/words.py"],
    ["sandbox", "run", "sandbox/report.mjs"],
  ]);
  if (inSandbox !== 0) return inSandbox;
  const outputs = show(sample, "cat .aimi/sandboxes/*/outputs/report.txt");
  if (outputs !== 0) return outputs;
  const destroyed = runAll(sample, [["sandbox", "destroy"]]);
  if (destroyed !== 0) return destroyed;

  say(
    "The task files are carried out: each in a sandbox of its own, one repaired, one upon another's result",
  );
  const carriedOut = runAll(sample, [["start", "--all"]]);
  if (carriedOut !== 0) return carriedOut;

  say("The branches are brought together, each result checked in a fresh sandbox by the sample's own tests");
  const together = runAll(sample, [["merge", "--into", "together", "--check", "node --test"]]);
  if (together !== 0) return together;
  for (const line of ["git switch --quiet together", "git log --graph --oneline", "node --test"]) {
    const exit = show(sample, line);
    if (exit !== 0) return exit;
  }

  say("Done. The sample is gone again; the engine goes on running.");
  console.log(
    `Try it in a repository of your own:\n  cd your/repository\n  ${program} init\n  ${program} plan\n  ${program} start --all\nTo stop the private engine: ${program} engine stop`,
  );
  return 0;
}

/** Prints and runs one command after another; stops at the first that fails. */
function runAll(folder: string, commands: readonly (readonly string[])[]): number {
  for (const words of commands) {
    console.log(`$ swarm ${words.join(" ")}`);
    const exit = swarm(folder, ...words);
    if (exit !== 0) return exit;
  }
  return 0;
}

/** Prints and runs a line of shell. `cat` replaces git's pager, which would wait for a key. */
function show(folder: string, line: string): number {
  console.log(`$ ${line}`);
  const env = { ...process.env, GIT_PAGER: "cat" };
  return spawnSync("sh", ["-c", line], { cwd: folder, stdio: "inherit", env }).status ?? 1;
}

function say(title: string): void {
  console.log(`\n— ${title}`);
}

function swarm(folder: string, ...words: string[]): number {
  return spawnSync(program, words, { cwd: folder, stdio: "inherit" }).status ?? 1;
}
