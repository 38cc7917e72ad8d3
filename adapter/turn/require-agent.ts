import type { RequestedAgent } from "../../src/contract/acp.ts";
import { sanitizeText } from "../../src/text/sanitize-text.ts";
import type { Agent } from "../agents/agent.ts";
import { killAgentProcesses, runProgramAsAgentUser } from "../machine/agent-user.ts";
import { FatalWorkerError } from "../machine/fatal-worker-error.ts";
import { ProgramResultUnknownError, requireExitCode } from "../machine/program-end.ts";

const present = "present\n";
const absent = "absent\n";
const lookUp = `if command -v -- "$1" > /dev/null; then echo present; else echo absent; fi`;

/**
 * Checks that the image contains the agent's program, and that at least one of the agent's credentials is
 * set. Returns the version that the program reports, or null if it reports none. Runs before the first story,
 * because otherwise every story would fail.
 */
export async function requireAgent(
  { kind, needsOneOf, versionFlags, program: programOf }: Agent,
  requested: RequestedAgent,
  look: {
    readonly env: Readonly<Record<string, string>>;
    readonly folder: string;
    readonly deadline: AbortSignal;
  },
): Promise<string | null> {
  if (needsOneOf.length > 0 && !needsOneOf.some((name) => look.env[name]))
    throw new FatalWorkerError(
      "MISSING_ENV_VAR",
      `the agent ${kind} needs one of these variables: ${needsOneOf.join(", ")}`,
    );
  const program = programOf(requested);
  const search = `the search for the program ${program}`;
  const found = await runProgramAsAgentUser({ ...look, command: ["sh", "-c", lookUp, "sh", program] });
  const words = requireExitCode(search, found) === 0 ? found.stdout : "";
  // Only the output `absent` proves that the image lacks the program, which no retry can change.
  if (words === absent)
    throw new FatalWorkerError(
      "AGENT_NOT_FOUND",
      `the sandbox's image does not contain the program ${program}`,
    );
  if (words !== present) throw new ProgramResultUnknownError(search, found);
  if (versionFlags.length === 0) return null;
  const asked = await runProgramAsAgentUser({
    ...look,
    command: [program, ...versionFlags],
    maxOutputLength: 1_000,
  });
  await killAgentProcesses();
  const { end } = asked;
  if (end.kind === "halted")
    throw new ProgramResultUnknownError(`${program} ${versionFlags.join(" ")}`, asked);
  const [line = ""] = asked.stdout.trim().split("\n");
  return end.kind === "exited" && end.code === 0 ? sanitizeText(line, 200) : null;
}
