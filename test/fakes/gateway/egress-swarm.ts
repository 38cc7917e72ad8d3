import { randomBytes } from "node:crypto";
import { appendFileSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { inject } from "vitest";
import { packFiles } from "../../../src/archive/pack-files.ts";
import { gatewayPort } from "../../../src/egress/gateway-port.ts";
import type { Containers } from "../../../src/engine/containers.ts";
import { baseImage } from "../../../src/engine/rules/base-image.ts";
import type { Finished } from "../cli/swarm-command.ts";
import { specOf } from "../engine/containers-suite.ts";
import { dockerAt, openEngine } from "../engine/engine-at.ts";
import { writeTask } from "../folders.ts";
import { git, write } from "../git/repository.ts";
import { clearEngine, projectOf, type SwarmPlace, swarmIn } from "../swarm/swarms.ts";
import { taskFileWith } from "../tasks/task-files.ts";
import { testLabel } from "../test-label.ts";
import { type EgressCheck, egressChecks, placeChecks, type Whereabouts } from "./egress-checks.ts";
import { type Attempts, neighbourPort, type Outcome, type Probe, type Traveller } from "./egress-probes.ts";
import { allowedName, type EgressTargets, namesOf } from "./egress-targets.ts";

const probesFile = fileURLToPath(new URL("egress-probes.ts", import.meta.url));

type Attempted = Readonly<Record<string, Attempts>>;
type Outcomes = Readonly<Record<string, readonly Outcome[]>>;

export interface EgressSwarm extends AsyncDisposable {
  readonly place: SwarmPlace;
  readonly finished: Finished;
  /** What came of each way out in the sandbox, and in a container that nobody holds. */
  readonly inside: Outcomes;
  readonly outside: Outcomes;
  /** Whether what was sent on a way has arrived somewhere. */
  hasArrived(name: string): { readonly inside: boolean; readonly outside: boolean };
  /** Of each worker, what the engine says of it. */
  readonly workers: readonly { readonly runtime: string; readonly networks: readonly string[] }[];
  /** What was in the gateway's two folders when all was tried. */
  readonly places: string;
}

/** What the gateway lets through. */
export const allowedWays: Readonly<Record<string, (at: Whereabouts, word: string) => readonly Probe[]>> = {
  "CONNECT to an allowed name": ({ targets }) => [
    {
      kind: "tunnel",
      authority: `${allowedName}:${targets.securePort}`,
      within: { serverName: allowedName },
    },
  ],
  "curl, which asks the proxy for an allowed name": ({ targets }, word) => [
    {
      kind: "command",
      command: ["curl", "-sk", "-m", "9", `https://${allowedName}:${targets.securePort}/${word}`],
    },
  ],
  "a call of a model": (_at, word) => [{ kind: "model", path: `/${word}` }],
  "a package of npm": () => [
    {
      kind: "command",
      command: [
        "sh",
        "-c",
        "mkdir -p /tmp/package && cd /tmp/package && npm install --silent isarray@2.0.5 && node -p 'require(`isarray`)([]) && `pong`'",
      ],
    },
  ],
};

const place =
  (probes: readonly Probe[]): ((at: Whereabouts) => readonly Probe[]) =>
  () =>
    probes;
const all: Readonly<Record<string, EgressCheck["probes"]>> = {
  ...allowedWays,
  ...Object.fromEntries(egressChecks.map(({ name, probes }) => [name, probes])),
  ...Object.fromEntries(Object.entries(placeChecks).map(([name, probes]) => [name, place(probes)])),
};
/** What the second worker tries: little enough that all of it is shown. */
const few = [
  "CONNECT to a name that is not allowed",
  "CONNECT to an allowed name that leads into a private network",
];

function attemptsAt(at: Whereabouts, run: string, names: readonly string[] = Object.keys(all)): Attempted {
  return Object.fromEntries(
    names.map((name) => [
      name,
      { word: wordOf(run, name), probes: all[name]?.(at, wordOf(run, name)) ?? [] },
    ]),
  );
}

const wordOf = (run: string, name: string): string => `w${run}x${Object.keys(all).indexOf(name)}z`;

/** Carries out a swarm of two workers that try every way out, and tries the same from a container that nobody holds. */
export async function tryWaysOut(
  targets: EgressTargets,
  { runtime, isolation }: { readonly runtime: string; readonly isolation: string },
): Promise<EgressSwarm> {
  const folder = mkdtempSync(join(tmpdir(), "swarm-"));
  const swarmPlace: SwarmPlace = { folder, repository: join(folder, "repository") };
  const { containers, networks } = await openEngine(inject("endpoint")).open();
  const docker = dockerAt(inject("endpoint"));
  await using undo = new AsyncDisposableStack();
  undo.defer(() => rmSync(folder, { recursive: true, force: true }));
  undo.defer(() => clearEngine(swarmPlace));
  prepare(swarmPlace);

  const run = randomBytes(6).toString("hex");
  const [runs, meeting] = [{ inside: `${run}i`, outside: `${run}o` }, Promise.withResolvers<void>()];
  const ending = Promise.withResolvers<void>();
  const travellers: Traveller[] = [];
  const done = new Set<string>();
  let workers: EgressSwarm["workers"] = [];
  let gatewayAddress = "";
  let places = "";
  let outside: Promise<Outcomes> = Promise.resolve({});

  const project = (): string => `org.aimi.project=${projectOf(swarmPlace)}`;
  const containersOf = async (role: string) => {
    const found = await docker.listContainers({ filters: { label: [project(), `org.aimi.role=${role}`] } });
    return Promise.all(found.map(({ Id }) => docker.getContainer(Id).inspect()));
  };
  const metAll = async (): Promise<void> => {
    const [gateway] = await containersOf("gateway");
    if (!gateway) throw new Error("there is no gateway");
    gatewayAddress = gateway.NetworkSettings.Networks["bridge"]?.IPAddress ?? "";
    const lines = namesOf(targets.bridgeAddress).map(([name, address]) => `${address} ${name}\n`);
    appendFileSync(gateway.HostsPath, lines.join(""));
    workers = (await containersOf("worker")).map(({ HostConfig, NetworkSettings }) => ({
      runtime: HostConfig.Runtime ?? "",
      networks: Object.keys(NetworkSettings.Networks),
    }));
    outside = tryOutside();
    meeting.resolve();
  };
  const allDone = async (): Promise<void> => {
    const [gateway] = await containersOf("gateway");
    if (gateway) places = await runIn(containers, gateway.Id, ["ls", "/gw", "/door"]);
    ending.resolve();
  };
  const whereOf = (one: Traveller, other: Traveller): Whereabouts => {
    const own = one.addresses.find(
      (address) => /^\d+\.\d+\.\d+\.\d+$/.test(address) && !address.startsWith("127."),
    );
    const at = (offset: number): string =>
      (own ?? "10.213.0.3").replace(/\d+$/, (last) => String((Number(last) & ~7) + offset));
    const there = other.addresses.filter((address) => !/^(127\.|::1$)/.test(address));
    return {
      ...{ targets, firstAddress: at(1), gatewayAddress, gatewayPort: gatewayPort },
      gatewayBeside: own === undefined ? null : at(2),
      neighbour: {
        ...{ name: containerName(other.slug), port: neighbourPort },
        addresses: there.length > 0 ? there : ["10.213.0.3", "10.213.0.11"],
        // Through a socket nobody sees who shows it, so that there it is one that is all but right.
        token:
          own === undefined
            ? `${other.token.slice(0, -2)}${other.token.endsWith("AA") ? "BB" : "AA"}`
            : other.token,
      },
    };
  };
  const names = new Map<string, string>();
  const containerName = (slug: string): string => names.get(slug) ?? slug;

  targets.onAsked = async (path, body) => {
    const { slug } = body as Traveller;
    if (path === "/done") {
      if (done.add(slug).size === 2) allDone().catch(ending.reject);
      await ending.promise;
      return {};
    }
    travellers.push(body as Traveller);
    if (travellers.length === 2) {
      for (const { Name } of await containersOf("worker"))
        names.set(Name.split("-").at(-1) ?? "", Name.slice(1));
      metAll().catch(meeting.reject);
    }
    await meeting.promise;
    const [one, other] = [
      travellers.find((each) => each.slug === slug),
      travellers.find((each) => each.slug !== slug),
    ];
    if (!one || !other) throw new Error("they have not met");
    return slug === "first"
      ? attemptsAt(whereOf(one, other), runs.inside)
      : attemptsAt(whereOf(one, other), `${run}s`, few);
  };

  async function tryOutside(): Promise<Outcomes> {
    await using stack = new AsyncDisposableStack();
    const mark = { [testLabel]: "egress" };
    const network = `aimi-test-${run}`;
    stack.defer(() => networks.remove(network));
    await networks.create({ name: network, labels: mark, internal: false, subnet: null });
    const open = async (command: string): Promise<{ readonly id: string; readonly name: string }> => {
      const spec = specOf(baseImage, runtime, {
        ...{ network: { kind: "named", name: network }, nameServer: targets.bridgeAddress, labels: mark },
        command: [
          "/opt/aimi/node",
          ...(command === "wait" ? ["-e", "setInterval(() => {}, 1e6)"] : ["/opt/egress-probes.ts", command]),
        ],
      });
      stack.defer(() => containers.remove(spec.name));
      const { id } = await containers.create(spec);
      const file = { ...{ kind: "file" as const, path: "egress-probes.ts" }, uid: 0, gid: 0, mode: 0o644 };
      await containers.copyIn(id, "/opt", packFiles([{ ...file, content: readFileSync(probesFile) }]));
      // Where the gateway has its way out.
      await docker.getNetwork("bridge").connect({ Container: id });
      await containers.start(id);
      if (command === "listen") for await (const _ of containers.logs(id, { follow: true })) break;
      return { id, name: spec.name };
    };
    const [own, neighbour] = await Promise.all([open("wait"), open("listen")]);
    const { NetworkSettings } = await docker.getContainer(neighbour.id).inspect();
    const leg = NetworkSettings.Networks[network];
    const at: Whereabouts = {
      ...{ targets, firstAddress: leg?.Gateway ?? "", gatewayAddress, gatewayPort: gatewayPort },
      gatewayBeside: leg?.Gateway ?? "",
      neighbour: {
        name: neighbour.name,
        addresses: [leg?.IPAddress ?? ""],
        port: neighbourPort,
        token: "any",
      },
    };
    const { bridgeAddress } = targets;
    const env = {
      HTTPS_PROXY: `http://worker:any@${bridgeAddress}:${targets.proxyPort}`,
      AIMI_MODEL_LAB_URL: `http://${bridgeAddress}:${targets.modelPort}`,
      GOPROXY: `http://${bridgeAddress}:${targets.mirrorPort}`,
      NODE_TLS_REJECT_UNAUTHORIZED: "0",
    };
    const known = Object.keys(all).filter(
      (name) => name !== "a package of npm" && !Object.hasOwn(placeChecks, name),
    );
    const said = await runIn(containers, own.id, ["/opt/aimi/node", "/opt/egress-probes.ts", "control"], {
      ...{ env, input: JSON.stringify(attemptsAt(at, runs.outside, known)) },
    });
    return JSON.parse(said);
  }

  const { mirrorPort, modelPort, securePort, plainPort } = targets;
  const allow = [...new Set(namesOf(targets.bridgeAddress).map(([name]) => `${name}:${securePort}`))];
  const finished = await swarmIn(
    swarmPlace,
    ...["start", "--all", "--isolation", isolation, "--parallel", "2"],
    ...["--model-endpoint", `lab=http://${targets.bridgeAddress}:${modelPort}`],
    ...["--registry", `go=http://${targets.bridgeAddress}:${mirrorPort}`],
    ...[...allow, `${allowedName}:${plainPort}`, "npm", "go"].flatMap((word) => ["--allow", word]),
  );
  if (finished.exit !== 0) throw new Error(`the swarm did not come to its end: ${finished.stderr}`);
  const collected = git(swarmPlace.repository, "show", "feat/first:results.json");
  const held = undo.move();
  return {
    ...{
      place: swarmPlace,
      finished,
      workers,
      places,
      outside: await outside,
      inside: JSON.parse(collected),
    },
    hasArrived: (name) => ({
      inside: targets.hasSeen(wordOf(runs.inside, name)),
      outside: targets.hasSeen(wordOf(runs.outside, name)),
    }),
    [Symbol.asyncDispose]: () => held.disposeAsync(),
  };
}

/** A repository whose workers carry the probes with them. */
function prepare({ repository }: SwarmPlace): void {
  write(repository, "egress-probes.ts", readFileSync(probesFile, "utf8"));
  git(repository, "init", "--quiet", "--initial-branch=main");
  git(repository, "add", "--all");
  git(
    repository,
    ...["-c", "user.name=T", "-c", "user.email=t@example.invalid", "commit", "-q", "-m", "Begin"],
  );
  for (const slug of ["first", "second"])
    writeTask(
      repository,
      `2026-01-02-${slug}-tasks.json`,
      taskFileWith({
        metadata: {
          branchName: `feat/${slug}`,
          agent: { kind: "command", command: ["/opt/aimi/node", "egress-probes.ts", "worker", slug] },
        },
      }),
    );
}

async function runIn(
  containers: Containers,
  id: string,
  command: readonly string[],
  { env = {}, input = "" }: { readonly env?: Readonly<Record<string, string>>; readonly input?: string } = {},
): Promise<string> {
  await using execution = await containers.exec(id, { command, env, user: "1000:1000", input: true });
  await execution.write(Buffer.from(input));
  await execution.endInput();
  let said = "";
  let complained = "";
  for await (const { stream, bytes } of execution.output)
    if (stream === "stdout") said += Buffer.from(bytes).toString();
    else complained += Buffer.from(bytes).toString();
  const exit = await execution.exit();
  if (exit.kind !== "exited" || exit.code !== 0) throw new Error(`${JSON.stringify(exit)}: ${complained}`);
  return said;
}
