import type { DoctorReport } from "../contract/doctor.ts";
import { findRepository } from "../git/find-repository.ts";
import type { Project } from "../project/project.ts";
import { worktreeScope } from "../state/find-state.ts";
import { checkEngineCandidates } from "./check-engine-candidates.ts";
import { diagnoseAgents } from "./diagnose-agents.ts";
import { diagnoseEngine } from "./diagnose-engine.ts";
import { checkDisk, diagnoseMachine } from "./diagnose-machine.ts";
import { diagnoseProject } from "./diagnose-project.ts";
import { asFinding, weak } from "./finding.ts";

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
  onStep("Checking Node, git and this repository");
  const findings = await diagnoseMachine(project.host.folder);
  if ("subject" in settings) findings.push(settings);
  const scope = repository && (await worktreeScope(project).catch(asFinding("project")));

  onStep("Looking for a container engine");
  const tried = await project.engines.tryAll(signal);
  findings.push(...checkEngineCandidates(tried));
  const info = tried.find((candidate) => candidate.info)?.info ?? null;
  const engine = info && (await project.engines.at(info.endpoint));
  if (engine) {
    const programs32Bit = !("subject" in settings) && settings.effective["limits.programs32Bit"];
    findings.push(...(await diagnoseEngine({ engine, info }, programs32Bit, onStep, signal)));
  }
  findings.push(await checkDisk(info), ...(await diagnoseAgents(project)));

  if (scope === null)
    findings.push(
      weak(
        "project",
        "this folder is not in a git repository",
        "Change to a repository, or create one with `git init`.",
      ),
    );
  else if ("subject" in scope) findings.push(scope);
  else findings.push(...(await diagnoseProject(project, scope, engine, signal)));
  return { ready: findings.every(({ state }) => state !== "missing"), findings };
}
