import type { HookTestResult } from "../claude-code/claude-code.ts";
import type { DoctorReport, Finding } from "../contract/doctor.ts";
import type {
  ContainerEngine,
  EngineInfo,
  LabelledContainer,
  TriedEngineCandidate,
} from "../engine/engine.ts";
import { type FindEngineDeps, tryEngineCandidates } from "../engine/find-engine.ts";
import type { MachineFacts } from "../engine/machine-facts.ts";
import { judgeRuntimeIsolation, preferredRuntimes } from "../engine/rules/isolation.ts";
import { SwarmError } from "../errors/errors.ts";
import type { SwarmState } from "../state/rules/swarm-state.ts";
import { formatBytes } from "../text/duration-and-size.ts";
import { formatCount } from "../text/format-count.ts";
import { checkEngineComponentVersions } from "./check-component-versions.ts";
import { checkSystemCallFilters } from "./check-system-call-filters.ts";

/** What `swarm doctor` reads about a worktree. */
export interface DiagnosedProject {
  readonly root: string;
  readonly id: string;
  readonly worktree: string;
  readonly findState: () => Promise<SwarmState | null>;
  /** Returns the paths of the files that need the user's trust and that the user has not trusted yet. */
  readonly untrustedFiles: () => Promise<readonly string[]>;
  /** Returns the number of task files. Throws the error of the first invalid task file. */
  readonly countTasks: () => Promise<number>;
}

export interface DiagnoseSetupDeps extends FindEngineDeps {
  readonly nodeVersion: string;
  readonly gitVersion: () => Promise<string | null>;
  readonly machine: MachineFacts;
  readonly freeBytes: (path: string) => Promise<number>;
  readonly credentials: () => Promise<readonly string[]>;
  /**
   * Runs sample commands through the hook of swarm's installed Claude Code plugin. Returns the results, or
   * null if the plugin is not installed.
   */
  readonly installedHook: () => Promise<HookTestResult | null>;
  /**
   * Returns the project; null if the working directory is outside a git repository. Throws if the project
   * cannot be opened.
   */
  readonly project: () => Promise<DiagnosedProject | null>;
  /** The error that occurred when swarm read the settings; null if they are valid. */
  readonly settingsProblem: SwarmError | null;
  readonly programs32Bit: boolean;
  readonly onStep: (step: string) => void;
}

const minFreeBytes = 5 * 1024 ** 3;
const minMemoryBytes = 2 * 1024 ** 3;

/**
 * Checks everything that a swarm needs to run. Each finding states a fact and, if something is wrong, how to
 * fix it.
 */
export async function diagnoseSetup(deps: DiagnoseSetupDeps, signal?: AbortSignal): Promise<DoctorReport> {
  deps.onStep("Checking Node, git and this repository");
  const findings = [judgeNode(deps.nodeVersion), await judgeGit(deps), judgeMemory(deps.machine)];
  if (deps.settingsProblem) findings.push(asFinding("settings")(deps.settingsProblem));
  const project = await deps.project().catch(asFinding("project"));

  deps.onStep("Looking for a container engine");
  const tried = await tryEngineCandidates(deps, signal);
  findings.push(...judgeCandidates(tried));
  const info = tried.find((candidate) => candidate.info)?.info ?? null;
  if (info) findings.push(...(await diagnoseEngine(deps, info, signal)));
  findings.push(await judgeDisk(deps, info), await judgeCredentials(deps), await judgeHook(deps));

  if (project === null)
    findings.push(
      finding(
        "project",
        "weak",
        "this folder is not in a git repository",
        "Change to a repository, or create one with `git init`.",
      ),
    );
  else if ("subject" in project) findings.push(project);
  else findings.push(...(await diagnoseProject(deps, project, info, signal)));
  return { ready: findings.every(({ state }) => state !== "missing"), findings };
}

async function diagnoseEngine(
  deps: DiagnoseSetupDeps,
  info: EngineInfo,
  signal?: AbortSignal,
): Promise<Finding[]> {
  const engine = deps.openEngine(info.endpoint);
  const findings: Finding[] = [
    info.builder === "buildkit"
      ? finding("builder", "good", "BuildKit")
      : finding(
          "builder",
          "weak",
          "the engine has only the classic builder, which is slower and reads the whole build context for every build",
          "Use an engine that has BuildKit.",
        ),
  ];
  const runtimes = inPreferredOrder(info.runtimes);
  deps.onStep(
    `Checking how strongly ${runtimes.join(" and ")} isolate containers, and whether the engine reaches an image registry`,
  );
  const [reachesRegistry, versions, ...judged] = await Promise.all([
    engine.reachesRegistry(signal),
    engine
      .listComponents(signal)
      .then((parts) => checkEngineComponentVersions(parts, runtimes), asFinding("versions", "weak")),
    ...runtimes.map((runtime) => judgeRuntime(engine, runtime, info, signal)),
  ]);
  findings.push(
    ...judged,
    checkSystemCallFilters({ ...info, runtimes }, deps),
    versions,
    reachesRegistry
      ? finding("registry", "good", "the engine reaches an image registry")
      : finding("registry", "weak", "the engine cannot reach an image registry", null),
  );
  return findings;
}

async function judgeRuntime(
  engine: ContainerEngine,
  runtime: string,
  info: EngineInfo,
  signal?: AbortSignal,
): Promise<Finding> {
  const subject = `runtime ${runtime}`;
  try {
    const { level, evidence, falseName, unconfined, unusable } = judgeRuntimeIsolation(
      runtime,
      await engine.probe(runtime, signal),
      info.kernel,
    );
    const fact = `${level}: ${evidence}`;
    if (falseName)
      return finding(
        subject,
        "weak",
        `${fact}. It is ${falseName}`,
        `Do not rely on this runtime: remove ${runtime} from the engine's runtimes, or install the real ${runtime}.`,
      );
    if (unconfined.length > 0)
      return finding(
        subject,
        "weak",
        `${fact}; not confined: ${unconfined.join("; ")}`,
        "Use another runtime or engine.",
      );
    if (unusable.length > 0)
      return finding(subject, "weak", `${fact}; not usable: ${unusable.join("; ")}`, "Use another runtime.");
    return finding(subject, "good", fact);
  } catch (error) {
    signal?.throwIfAborted();
    if (!(error instanceof SwarmError)) throw error;
    return finding(
      subject,
      "weak",
      `the runtime's isolation could not be measured: ${error.message}`,
      "Read the engine's log, or remove the runtime from the engine's configuration.",
    );
  }
}

function inPreferredOrder(runtimes: readonly string[]): string[] {
  const rank = (runtime: string): number => {
    const index = preferredRuntimes.indexOf(runtime);
    return index < 0 ? preferredRuntimes.length : index;
  };
  return [...runtimes].sort((a, b) => rank(a) - rank(b));
}

async function diagnoseProject(
  deps: DiagnoseSetupDeps,
  project: DiagnosedProject,
  info: EngineInfo | null,
  signal?: AbortSignal,
): Promise<Finding[]> {
  const state = await project.findState().catch(asFinding("state"));
  const findings: Finding[] = [];
  if (state === null) findings.push(finding("state", "good", "no swarm in this worktree yet"));
  else if ("subject" in state) findings.push(state);
  else
    findings.push(
      finding(
        "state",
        "good",
        `swarm ${state.swarmId} with ${formatCount(state.containers.length, "container")}`,
      ),
    );

  if (info) {
    const known = new Set(
      state && "containers" in state ? state.containers.map(({ containerName }) => containerName) : [],
    );
    const scope = { projectId: project.id, worktree: project.worktree };
    const judge = (containers: readonly LabelledContainer[]): Finding => {
      const strays = containers.filter(({ name }) => !known.has(name)).map(({ name }) => name);
      return strays.length === 0
        ? finding("leftovers", "good", "every container of this project has a record in the state file")
        : finding(
            "leftovers",
            "weak",
            `containers without a record: ${strays.join(", ")}`,
            "`swarm state repair` adds records of these containers.",
          );
    };
    findings.push(
      await deps
        .openEngine(info.endpoint)
        .listContainers(scope, signal)
        .then(judge, asFinding("leftovers", "weak")),
    );
  }
  findings.push(
    await project.untrustedFiles().then(judgeTrust, asFinding("trust")),
    await project
      .countTasks()
      .then(
        (count) => finding("task files", "good", formatCount(count, "task file")),
        asFinding("task files", "weak"),
      ),
  );
  return findings;
}

function judgeTrust(files: readonly string[]): Finding {
  if (files.length === 0)
    return finding("trust", "good", "no file of this project still needs to be trusted");
  return finding(
    "trust",
    "weak",
    `swarm refuses these files until you trust them: ${files.join(", ")}`,
    "Read the files, then run `swarm trust`.",
  );
}

function judgeNode(version: string): Finding {
  const [major = 0, minor = 0] = version.replace(/^v/, "").split(".").map(Number);
  const fits = (major === 24 && minor >= 15) || major >= 26;
  return fits
    ? finding("node", "good", version)
    : finding("node", "missing", `version ${version} is too old`, "Install Node 24.15 or newer.");
}

async function judgeGit({ gitVersion, machine }: DiagnoseSetupDeps): Promise<Finding> {
  const version = await gitVersion().catch(() => null);
  const install =
    machine.system === "debian" || machine.system === "ubuntu"
      ? "`apt-get install git`"
      : "Install git 2.38 or newer.";
  if (version === null) return finding("git", "missing", "git is not installed", install);
  const [major = 0, minor = 0] = version.split(".").map(Number);
  const fits = major > 2 || (major === 2 && minor >= 38);
  return fits
    ? finding("git", "good", version)
    : finding(
        "git",
        "missing",
        `git ${version} is too old: swarm merges without a working tree, which needs git 2.38 or newer`,
        install,
      );
}

function judgeMemory({ memoryBytes, cpus }: MachineFacts): Finding {
  const fact = `${formatBytes(memoryBytes)}, ${formatCount(cpus, "CPU")}`;
  return memoryBytes >= minMemoryBytes
    ? finding("memory", "good", fact)
    : finding("memory", "weak", fact, "Lower limits.memory in the settings.");
}

async function judgeDisk({ freeBytes }: DiagnoseSetupDeps, info: EngineInfo | null): Promise<Finding> {
  // Measures the folder of a local engine's data, else `/`: the disk of a remote engine cannot be measured
  // from here.
  const folder = (info?.endpoint.startsWith("unix://") && info.dataFolder) || "/";
  const free = await freeBytes(folder);
  const fact = `${formatBytes(free)} free${folder === "/" ? "" : " on the disk with the engine's data"}`;
  return free >= minFreeBytes
    ? finding("disk", "good", fact)
    : finding("disk", "weak", fact, `Free some space on the disk that contains ${folder}.`);
}

async function judgeCredentials({ credentials }: DiagnoseSetupDeps): Promise<Finding> {
  const names = await credentials();
  return names.length > 0
    ? finding("credentials", "good", `${names.join(", ")} present`)
    : finding(
        "credentials",
        "weak",
        "no credentials found; the agents `script` and `command` need no credentials",
        "Set ANTHROPIC_API_KEY or CLAUDE_CODE_OAUTH_TOKEN for Claude Code.",
      );
}

async function judgeHook({ installedHook }: DiagnoseSetupDeps): Promise<Finding> {
  const hook = await installedHook();
  if (hook === null)
    return finding(
      "hook",
      "good",
      "the hook is not installed; Claude Code asks the user before each swarm command",
      null,
    );
  const { place, isEnabled, approved, refused, why } = hook;
  if (!isEnabled)
    return finding(
      "hook",
      "weak",
      `the hook is installed in ${place}, but disabled`,
      "`claude plugin enable aimi@aimi`",
    );
  // A hook that approves foreign commands is worse than no hook.
  if (!refused)
    return finding(
      "hook",
      "missing",
      `the hook in ${place} approves commands that are not swarm's own`,
      "`swarm plugin install`",
    );
  return approved
    ? finding("hook", "good", `the hook in ${place} approves swarm's own commands and nothing else`)
    : finding(
        "hook",
        "weak",
        `the hook in ${place} does not approve swarm's own commands: ${why}`,
        "`swarm plugin install` updates the hook",
      );
}

function judgeCandidates(tried: readonly TriedEngineCandidate[]): Finding[] {
  const chosen = tried.find(({ info }) => info);
  const refused = tried
    .filter((candidate) => candidate.refused !== null && candidate.refused !== "the socket does not exist")
    .map(({ origin, endpoint, refused: why }) =>
      finding("engine candidate", "weak", `${origin} at ${endpoint}: ${why}`, null),
    );
  if (!chosen?.info) {
    const named = tried.filter(({ refused: why }) => why !== "the socket does not exist");
    const places = named.map(({ origin, refused: why }) => `${origin}: ${why}`);
    const absent = tried.length - named.length;
    if (absent > 0)
      places.push(
        tried.length === 1
          ? `${tried[0]?.origin}: the socket does not exist`
          : `no socket exists at ${formatCount(absent, "usual path")}`,
      );
    return [
      ...refused,
      finding("engine", "missing", `no engine answers (${places.join("; ")})`, remedyFor(tried)),
    ];
  }
  const { version, endpoint, storageDriver, architecture } = chosen.info;
  return [
    ...refused,
    finding(
      "engine",
      "good",
      `${chosen.origin} at ${endpoint}: version ${version}, ${storageDriver}, ${architecture}`,
    ),
  ];
}

/**
 * Returns advice on how to get a container engine. If the user has selected one engine, the advice is about
 * this engine, because swarm tries no other.
 */
function remedyFor(tried: readonly TriedEngineCandidate[]): string {
  const [first] = tried;
  if (tried.length !== 1 || !first) return "`swarm engine start`, or `swarm doctor --fix`";
  return `Start the selected engine, or remove its selection (${first.origin}) and run \`swarm engine start\`.`;
}

/**
 * Returns an error handler that turns a `SwarmError` into a finding of `swarm doctor`. The handler rethrows
 * any other error, because that is a bug of swarm.
 */
function asFinding(subject: string, state: Finding["state"] = "missing"): (error: unknown) => Finding {
  return (error) => {
    if (error instanceof SwarmError) return finding(subject, state, error.message, error.hint ?? null);
    throw error;
  };
}

function finding(subject: string, state: Finding["state"], fact: string, fix: string | null = null): Finding {
  return { subject, state, fact, fix };
}
