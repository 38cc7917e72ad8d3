import type { DoctorReport, Finding } from "../contract/doctor.ts";
import type { ContainerEngine, EngineInfo, EngineWorktreeScope } from "../engine/engine.ts";
import { readMachineFacts } from "../engine/read-machine.ts";
import { preferredRuntimes } from "../engine/rules/isolation.ts";
import { findRepository } from "../git/find-repository.ts";
import type { Project } from "../project/project.ts";
import { worktreeScope } from "../state/find-state.ts";
import { checkBuilder } from "./check-builder.ts";
import { checkEngineComponentVersions } from "./check-component-versions.ts";
import { checkCredentials } from "./check-credentials.ts";
import { checkDisk } from "./check-disk.ts";
import { checkEngineCandidates } from "./check-engine-candidates.ts";
import { checkGit } from "./check-git.ts";
import { checkLeftovers } from "./check-leftovers.ts";
import { checkMemory } from "./check-memory.ts";
import { checkNode } from "./check-node.ts";
import { checkPluginHook } from "./check-plugin-hook.ts";
import { checkRegistry } from "./check-registry.ts";
import { checkRuntime } from "./check-runtime.ts";
import { checkState } from "./check-state.ts";
import { checkSystemCallFilters } from "./check-system-call-filters.ts";
import { checkTaskFiles } from "./check-task-files.ts";
import { checkTrust } from "./check-trust.ts";
import { asFinding, finding } from "./finding.ts";

/** An engine that answers, with what it reports about itself. */
interface DiagnosedEngine {
  readonly engine: ContainerEngine;
  readonly info: EngineInfo;
}

/**
 * Checks everything that a swarm needs to run. Each finding states a fact and, if something is wrong, how to
 * fix it.
 */
export async function diagnoseSetup(
  project: Project,
  onStep: (step: string) => void,
  signal: AbortSignal,
): Promise<DoctorReport> {
  const repository = await findRepository(project.host.folder);
  const settings = await project.settings().catch(asFinding("settings"));
  const machine = await readMachineFacts();
  onStep("Checking Node, git and this repository");
  const findings = [
    checkNode(process.version),
    await checkGit(project.host.folder, machine),
    checkMemory(machine),
  ];
  if ("subject" in settings) findings.push(settings);
  const scope = repository && (await worktreeScope(project).catch(asFinding("project")));

  onStep("Looking for a container engine");
  const tried = await project.engines.tryAll(signal);
  findings.push(...checkEngineCandidates(tried));
  const info = tried.find((candidate) => candidate.info)?.info ?? null;
  const found = info && { engine: await project.engines.at(info.endpoint), info };
  if (found) {
    const programs32Bit = !("subject" in settings) && settings.effective["limits.programs32Bit"];
    findings.push(...(await diagnoseEngine(found, programs32Bit, onStep, signal)));
  }
  findings.push(await checkDisk(info), await checkCredentials(project), await checkPluginHook(project));

  if (scope === null)
    findings.push(
      finding(
        "project",
        "weak",
        "this folder is not in a git repository",
        "Change to a repository, or create one with `git init`.",
      ),
    );
  else if ("subject" in scope) findings.push(scope);
  else findings.push(...(await diagnoseProject(project, scope, found?.engine ?? null, signal)));
  return { ready: findings.every(({ state }) => state !== "missing"), findings };
}

async function diagnoseEngine(
  { engine, info }: DiagnosedEngine,
  programs32Bit: boolean,
  onStep: (step: string) => void,
  signal: AbortSignal,
): Promise<Finding[]> {
  const runtimes = inPreferredOrder(info.runtimes);
  onStep(
    `Checking how strongly ${runtimes.join(" and ")} isolate containers, and whether the engine reaches an image registry`,
  );
  const [registry, versions, ...isolation] = await Promise.all([
    checkRegistry(engine, signal),
    engine
      .listComponents(signal)
      .then((parts) => checkEngineComponentVersions(parts, runtimes), asFinding("versions", "weak")),
    ...runtimes.map((runtime) => checkRuntime(engine, runtime, info, signal)),
  ]);
  return [
    checkBuilder(info),
    ...isolation,
    checkSystemCallFilters({ filter: info.filter, runtimes }, { programs32Bit }),
    versions,
    registry,
  ];
}

function inPreferredOrder(runtimes: readonly string[]): string[] {
  const rank = (runtime: string): number => {
    const index = preferredRuntimes.indexOf(runtime);
    return index < 0 ? preferredRuntimes.length : index;
  };
  return [...runtimes].sort((a, b) => rank(a) - rank(b));
}

async function diagnoseProject(
  project: Pick<Project, "git" | "settings" | "state" | "tasks" | "trust">,
  scope: EngineWorktreeScope,
  engine: ContainerEngine | null,
  signal: AbortSignal,
): Promise<Finding[]> {
  const read = async () => (await project.state.store()).find();
  const state = await read().catch(asFinding("state"));
  const isUnreadable = state !== null && "subject" in state;
  return [
    isUnreadable ? state : checkState(state),
    ...(engine ? [await checkLeftovers(engine, scope, isUnreadable ? null : state, signal)] : []),
    await checkTrust(project).catch(asFinding("trust")),
    await checkTaskFiles(project).catch(asFinding("task files", "weak")),
  ];
}
