import type { DoctorReport } from "../../../contract/doctor.ts";
import { diagnoseSetup } from "../../../doctor/diagnose-setup.ts";
import { exitCodes } from "../../../errors/exit-codes.ts";
import { sanitizeText } from "../../../text/sanitize-text.ts";
import type { CommandHandler } from "../../flags/command.ts";
import { askToInstallPackages } from "../../render/ask-for-confirmation.ts";

export const doctorCommand: CommandHandler = async ({ project, output, signal }, _args, { fix, yes }) => {
  const examine = (): Promise<DoctorReport> =>
    output.during("Checking this machine", (onStep) => diagnoseSetup(project, onStep, signal));
  let report = await examine();
  if (fix && report.findings.some(({ subject, state }) => subject === "engine" && state === "missing")) {
    const engine = await project.engines.private();
    const mayInstall = await askToInstallPackages(output, engine, yes === true);
    await output.during("Starting the private engine", (onStep) =>
      engine.start({ mayInstall, onStep, reset: false, signal }),
    );
    report = await examine();
  }
  output.result(report, () => lines(report, output.paint));
  output.next(nextAfter(report));
  return report.ready ? exitCodes.done : exitCodes.environment;
};

function nextAfter({ ready, findings }: DoctorReport): string {
  if (!ready) return "fix the problems above, then run `swarm doctor` again";
  const weak = findings.find(
    ({ subject, state }) => state === "weak" && ["project", "trust", "task files"].includes(subject),
  );
  return weak?.fix ?? "`swarm plan`";
}

function lines(
  { findings }: DoctorReport,
  paint: Parameters<CommandHandler>[0]["output"]["paint"],
): string[] {
  const width = Math.max(...findings.map(({ subject }) => subject.length));
  return findings.flatMap(({ subject, state, fact, fix }) => [
    `${paint.mark(state)}  ${sanitizeText(subject).padEnd(width)}  ${sanitizeText(fact, 2000)}`,
    ...(fix ? [paint.dim(`${" ".repeat(11)}${" ".repeat(width)}  → ${sanitizeText(fix, 500)}`)] : []),
  ]);
}
