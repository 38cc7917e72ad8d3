import { readFileSync } from "node:fs";
import { join } from "node:path";
import { prepareWorkspace } from "../../../adapter/workspace/prepare-workspace.ts";
import type { StoryStatus } from "../../../src/contract/swarm-state.ts";
import {
  agentBranch,
  agentEnv,
  noLimit,
  noWorkLimits,
  type Preparation,
  preparationPaths,
} from "./preparation.ts";

/** node prepare-process.ts <folder>: prepares the workspace that lies there, and prints the tree of its files. */
const [folder = ""] = process.argv.slice(2);
const { base, good, wip, isInImage } = JSON.parse(
  readFileSync(join(folder, "preparation.json"), "utf8"),
) as Preparation;
const paths = preparationPaths(folder);
const statusById = new Map<string, StoryStatus>([["US-001", "completed"]]);
if (wip !== null) statusById.set("US-002", "in_progress");

const workspace = await prepareWorkspace({
  ...{
    paths,
    branch: agentBranch,
    repoUrl: isInImage ? "image:" : "bundle:/aimi/in/repo.bundle",
    baseCommit: base,
    knownBase: base,
  },
  env: agentEnv,
  history: {
    statusById,
    lastCheckpoint: { commit: good, bundle: join(paths.aimi, "out", "US-001.bundle") },
    lastBundle: join(paths.aimi, "out", "US-001.bundle"),
  },
  ...{ limit: noLimit, workLimits: noWorkLimits },
  knownExclude: "",
});
process.stdout.write(await workspace.writeTree());
