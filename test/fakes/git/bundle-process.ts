import { createCommitReader } from "../../../src/git/commit-reader.ts";

/** Makes a bundle and is killed with it. */
const [repository = "", commit = ""] = process.argv.slice(2);
await createCommitReader(repository).bundle(commit, "workspace");
process.kill(process.pid, "SIGKILL");
