import { SwarmError } from "../../errors/errors.ts";
import { type Instruction, readInstructions } from "./dockerfile-instructions.ts";
import {
  echoMarkedMessage,
  joinShellLines,
  renderRunInstruction,
  requireImageReference,
} from "./dockerfile-text.ts";
import { type BundleTransfer, workspaceLayer } from "./workspace-layer.ts";

/**
 * The text that the build of a project's image prints if the image cannot run a sandbox. A comma-separated
 * list of the programs that the image lacks follows.
 */
export const unsuitableImageMark: string = "AIMI-UNSUITABLE:";

const baseStage = "aimi-base";
const userStage = "aimi-user";

/**
 * Appends swarm's build stages to a project's own Dockerfile. The numbers of the original stages and lines do
 * not change, so that the builder's error messages stay correct.
 */
export function appendStagesToUserDockerfile({
  text,
  file,
  base,
  transfer,
}: {
  readonly text: string;
  readonly file: string;
  readonly base: string;
  readonly transfer: BundleTransfer;
}): string {
  const { instructions, continuation } = readInstructions(text);
  const stages = readStages(instructions, file);
  const last = stages.at(-1);
  if (!last) {
    const line = (instructions[0]?.firstLine ?? 0) + 1;
    throw new SwarmError("DOCKERFILE_INVALID", {
      place: { file, line },
      problem: "the Dockerfile has no FROM instruction",
    });
  }

  return [
    last.name === null ? nameStage(text, last).trimEnd() : text.trimEnd(),
    "",
    "# swarm adds these lines to make a sandbox image.",
    `FROM ${requireImageReference(base)} AS ${baseStage}`,
    "",
    `FROM ${last.name ?? userStage}`,
    'SHELL ["/bin/sh", "-c"]',
    "ENTRYPOINT []",
    "USER 0:0",
    `COPY --from=${baseStage} ["/opt/aimi", "/opt/aimi"]`,
    renderRunInstruction(suitability, continuation),
    renderRunInstruction(agentUser, continuation),
    "WORKDIR /workspace",
    "USER 1000:1000",
    "",
    workspaceLayer(transfer, continuation),
    "USER 1000:1000",
    "",
  ].join("\n");
}

interface Stage {
  readonly from: Instruction;
  readonly source: string;
  readonly name: string | null;
}

function readStages(instructions: readonly Instruction[], file: string): Stage[] {
  const froms = instructions.filter(({ name }) => name === "FROM");
  return froms.map((from, index) => {
    const [, source, name] = /^((?:--\S+\s+)*[^\s-]\S*)(?:\s+AS\s+(\S+))?$/i.exec(from.argument) ?? [];
    const invalid = (problem: string): SwarmError =>
      new SwarmError("DOCKERFILE_INVALID", { place: { file, line: from.firstLine + 1 }, problem });
    if (source === undefined) throw invalid("FROM must name an image, and may name the build stage with AS");
    if (name !== undefined && !/^[a-z][a-z0-9-_.]*$/i.test(name))
      throw invalid(`the name of a build stage is invalid: ${name.slice(0, 100)}`);
    const isLast = index === froms.length - 1;
    if (name?.toLowerCase() === baseStage || (name?.toLowerCase() === userStage && !isLast))
      throw invalid(`swarm reserves this name of a build stage: ${name}`);
    return { from, source, name: name ?? null };
  });
}

/**
 * Adds a name (`AS …`) to a build stage. A FROM of several lines becomes one line, followed by empty lines,
 * so that line numbers do not change.
 */
function nameStage(text: string, { from, source }: Stage): string {
  const lines = text.split("\n");
  const end = lines[from.firstLine]?.endsWith("\r") ? "\r" : "";
  const empty = new Array<string>(from.lastLine - from.firstLine).fill(end);
  lines.splice(from.firstLine, empty.length + 1, `FROM ${source} AS ${userStage}${end}`, ...empty);
  return lines.join("\n");
}

const suitability: readonly string[] = [
  'absent="";',
  'for tool in git sh tar sleep; do command -v "$tool" > /dev/null 2>&1 || absent="${absent:+$absent, }$tool"; done;',
  "if ! /opt/aimi/node --version > /dev/null 2>&1; then",
  "  if ls /lib*/ld-linux* > /dev/null 2>&1; then missing=libstdc++; else missing=glibc; fi;",
  '  absent="${absent:+$absent, }$missing";',
  "fi;",
  `if [ -n "$absent" ]; then ${echoMarkedMessage(unsuitableImageMark, "$absent")}; exit 1; fi`,
];

/**
 * Shell lines that add the agent's user to `/etc/passwd`. They do not call a program such as `useradd`,
 * because small images lack it and distributions have different ones.
 */
const agentUser: readonly string[] = joinShellLines([
  "set -eu",
  "touch /etc/passwd /etc/group",
  'for file in /etc/passwd /etc/group; do [ -z "$(tail -c 1 $file)" ] || echo >> $file; done',
  "name=agent",
  "if grep -q '^agent:' /etc/passwd; then name=aimi-agent; fi",
  "if ! grep -q '^[^:]*:[^:]*:1000:' /etc/group; then echo \"$name:x:1000:\" >> /etc/group; fi",
  "if ! grep -q '^[^:]*:[^:]*:1000:' /etc/passwd; then echo \"$name:x:1000:1000::/home/$name:/bin/sh\" >> /etc/passwd; fi",
  "home=\"$(sed -n 's/^[^:]*:[^:]*:1000:[^:]*:[^:]*:\\([^:]*\\):.*/\\1/p' /etc/passwd | sed -n 1p)\"",
  'mkdir -p "$home" /workspace',
  'chown 1000:1000 "$home"',
  "chown -R 1000:1000 /workspace",
]);
