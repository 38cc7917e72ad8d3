import { randomUUID } from "node:crypto";
import { requireCapability } from "../engine/capabilities.ts";
import { chooseSystemCallFilter, describeSystemCallFilter } from "../engine/rules/system-call-filter.ts";
import { SwarmError } from "../errors/errors.ts";
import { modelAccess } from "../gateway/agent-access.ts";
import type { SwarmOnNetwork } from "../gateway/swarm-on-network.ts";
import type { Project } from "../project/project.ts";
import { findSandboxRuntime } from "../sandbox/find-runtime.ts";
import { sandboxLimits } from "../sandbox/sandbox-limits.ts";
import { requireTrustedSettings } from "../settings/read-settings.ts";
import { pickRecordedSettings } from "../settings/rules/recorded-settings.ts";
import type { Settings } from "../settings/rules/settings.ts";
import { refuseOtherProject } from "../state/project-identity.ts";
import { isTerminalStatus } from "../state/rules/container-status.ts";
import { findPendingCommands } from "../state/rules/owner-commands.ts";
import { haveAllWorkersEnded, type SwarmState } from "../state/rules/swarm-state.ts";
import { beginSwarm, type PlannedWork } from "./begin-swarm.ts";
import type { OwnerRequest, SwarmRunCallbacks } from "./owner-request.ts";
import { settingsOfSwarm, taskRequestsOf } from "./worker/swarm-settings.ts";

/** Asks this process to become the owner of a swarm and to add work to the swarm. */
export interface OwnerWorkRequest extends OwnerRequest {
  /** The tasks for which the owner adds new workers to the swarm's state. */
  readonly works: readonly PlannedWork[];
}

/** A swarm whose state is written, with everything that stays the same while its owner runs. */
export interface BegunSwarm extends SwarmOnNetwork {
  /** The keys of the agent packages that the base image must contain. */
  readonly agentsInImage: readonly string[];
}

type BeginProject = Pick<
  Project,
  "engines" | "host" | "identity" | "repository" | "settings" | "state" | "tasks"
>;

/** Writes the state of the owner's swarm: of a new swarm, or of the unfinished swarm of this worktree. */
export async function beginOwnedSwarm(
  project: BeginProject,
  request: OwnerWorkRequest,
  report: Pick<SwarmRunCallbacks, "onStep" | "signal">,
): Promise<BegunSwarm> {
  const { works, retry = [] } = request;
  const { known, isResumed, swarmId } = await chooseSwarm(project, request);
  const settings = await settingsOfSwarm(project, swarmId);
  const requests = await taskRequestsOf(project, swarmId);
  if (isResumed) await refuseOtherNetwork(known, settings, await requests.findSettings());
  const access = await modelAccess(project, settings);
  const due = await access.findAgentsToStart(works, isResumed ? known : null, retry);
  access.refuse(due);
  if (works.length === 0) for (const line of access.describe(due)) report.onStep(line);
  const engine = await project.engines.started(known?.engine?.endpoint ?? null);
  // A worker keeps its journal on a volume, so that no kill of its container loses it.
  requireCapability(engine, "namedVolumes");
  const network = await access.network((await engine.open()).networks, report.signal);
  const { id, name, endpoint, runtimes, filter } = await engine.info(report.signal);
  const { runtime, level: isolation } = await findSandboxRuntime(project, engine, settings, report.signal);
  const limits = sandboxLimits(requireTrustedSettings(await project.settings()));
  const systemCalls = describeSystemCallFilter(chooseSystemCallFilter(filter, runtime), limits);
  // Records the settings before the state file is written, so that every swarm with a state file has settings.
  if (!isResumed) await requests.storeSettings(pickRecordedSettings(settings));
  project.host.crashPoint("before-state-init");
  const state = await beginSwarm(
    {
      store: await project.state.store(),
      project: await project.identity(),
      engine: { id, name, endpoint, isolation, systemCalls },
      swarmId,
      clock: project.host.clock,
    },
    { works, isNew: !isResumed, earlierCommands: known === null ? [] : findPendingCommands(known) },
  );
  project.host.crashPoint("after-state-init");
  if (isResumed) await requests.storeSettings(pickRecordedSettings(settings));
  const agentsInImage = access.inImage(due);
  return { state, settings, access, engine, runtime, runtimes, network, agentsInImage };
}

type ChosenSwarm =
  | { readonly isResumed: true; readonly known: SwarmState; readonly swarmId: string }
  | { readonly isResumed: false; readonly known: SwarmState | null; readonly swarmId: string };

/** Decides whether the owner resumes the swarm of this worktree or begins a new one. */
async function chooseSwarm(
  project: Pick<Project, "identity" | "state">,
  { works, force, swarmId }: OwnerWorkRequest,
): Promise<ChosenSwarm> {
  const known = await (await project.state.store()).find();
  const { id } = await project.identity();
  if (!force) refuseOtherProject(known, id);
  if (known !== null && !force && !(works.length > 0 && haveAllWorkersEnded(known)))
    return { isResumed: true, known, swarmId: known.swarmId };
  // A new swarm gets a new id if the requested id is that of the known swarm: the archive keeps the known swarm
  // under its id.
  const isFree = swarmId !== undefined && swarmId !== known?.swarmId;
  return { isResumed: false, known, swarmId: isFree ? swarmId : randomUUID() };
}

/**
 * Throws if the setting `network` was changed while unfinished sandboxes exist, because these still use the
 * network that was recorded when the swarm started.
 */
async function refuseOtherNetwork(
  state: SwarmState,
  { network }: Settings,
  recorded: { readonly network?: string } | null,
): Promise<void> {
  const isAnyThere = state.containers.some(
    ({ status, containerId }) => !isTerminalStatus(status) && containerId !== null,
  );
  if (!isAnyThere || recorded?.network === undefined || recorded.network === network) return;
  const expected = `${recorded.network}, because unfinished sandboxes of this swarm use this network`;
  throw new SwarmError("INVALID_VALUE", { name: "--network", value: network, expected });
}
