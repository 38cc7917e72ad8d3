import type { SandboxRecord } from "../../contract/sandbox-run.ts";
import type { SandboxSummary } from "../../contract/sandbox-summary.ts";
import { SwarmError, usageError } from "../../errors/errors.ts";
import { execInSandbox } from "../../sandbox/command/exec-in-sandbox.ts";
import { destroySandboxes } from "../../sandbox/destroy-sandbox.ts";
import { copySandboxFiles } from "../../sandbox/files/copy-between-host-and-sandbox.ts";
import { listSandboxes } from "../../sandbox/list-sandboxes.ts";
import { measureSandbox } from "../../sandbox/measure-sandbox.ts";
import { readSandboxLogs } from "../../sandbox/task/read-sandbox-logs.ts";
import { runTaskFile } from "../../sandbox/task/run-task-file.ts";
import { upSandbox } from "../../sandbox/up-sandbox.ts";
import { formatBytes, formatDuration } from "../../text/duration-and-size.ts";
import { sanitizeText } from "../../text/sanitize-text.ts";
import {
  argumentAt,
  type CommandArguments,
  type CommandHandler,
  textOption,
  variadicArgumentAt,
} from "../flags/command.ts";
import {
  passThroughExitCodeForError,
  passThroughExitCodes,
  withPassThroughExitCodes,
} from "../pass-through-exit-codes.ts";
import type { Output } from "../render/output.ts";
import { suggestNextSandboxCommand } from "../render/suggest-sandbox-command.ts";
import { alignTable } from "../render/table.ts";

export const sandboxUpCommand: CommandHandler = async ({ project, output, signal }, _args, options) => {
  const { record, warnings } = await output.during("Creating a sandbox", (onStep) =>
    upSandbox(
      project,
      {
        specFile: textOption(options, "spec"),
        allowed: [
          ...(options["dangerousAllowHostNetwork"] ? (["hostNetwork"] as const) : []),
          ...(options["dangerousAllowPrivileged"] ? (["privileged"] as const) : []),
        ],
        autoDestroy: options["autoDestroy"] !== false,
      },
      onStep,
      signal,
    ),
  );
  for (const warning of warnings) output.note(`! ${warning}`);
  output.result(record, () =>
    alignTable([
      ["sandbox", record.sandbox === record.id ? record.id : `${record.id} (${record.sandbox})`],
      ["image", record.image],
      ["isolation", `${record.isolation.level}, ${record.isolation.runtime}`],
      ["network", record.network],
      [
        "time to live",
        record.ttlMs === null ? "none" : `${record.ttl}, counted from the sandbox's first use`,
      ],
      ["files", `.aimi/sandboxes/${record.id}/`],
    ]),
  );
  output.next("`swarm sandbox run FILE`");
};

export const sandboxRunCommand: CommandHandler = async ({ project, output, signal }, args, options) =>
  withPassThroughExitCodes(output, async () => {
    const { record, summary, failure } = await runTaskFile(
      project,
      {
        file: argumentAt(args, 0),
        sandbox: textOption(options, "sandbox"),
        onOutput: (chunk) => output.stream(chunk),
      },
      signal,
    );
    if (signal.aborted) {
      output.note(summaryLine(record, summary));
      throw signal.reason;
    }
    output.result(summary);
    for (const path of summary.missingOutputs) output.note(`! the expected output ${path} is missing`);
    for (const [what, paths, more] of [
      ["not copied out of the sandbox", summary.leftOut, summary.more.leftOut],
      ["copied out of the sandbox only in part", summary.missed, summary.more.missed],
    ] as const) {
      for (const path of paths) output.note(`! ${what}: ${sanitizeText(path)}`);
      if (more > 0) output.note(`! ${what}: ${more} more files`);
    }
    output.note(summaryLine(record, summary));
    if (summary.outputFiles.length > 0) output.note(`outputs: .aimi/sandboxes/${record.id}/outputs/`);
    if (failure != null) {
      // If the program itself failed, its exit code says more than swarm's error.
      const ownCode = summary.exitCode === 0 ? null : summary.exitCode;
      if (output.json && failure instanceof SwarmError) {
        // With `--json`, the summary must be the only document on stdout, so the error goes to stderr.
        output.note(`error ${failure.code}: ${sanitizeText(failure.message, Number.POSITIVE_INFINITY)}`);
        return ownCode ?? passThroughExitCodeForError(failure);
      }
      if (ownCode === null || !(failure instanceof SwarmError)) throw failure;
      output.note(`! ${failure.message}`);
    }
    return summary.exitCode ?? passThroughExitCodes.ours;
  });

export const sandboxExecCommand: CommandHandler = async ({ project, output, signal }, args, options) =>
  withPassThroughExitCodes(output, async () => {
    const command = variadicArgumentAt(args, 0);
    if (command.length === 0)
      throw usageError("swarm sandbox exec needs a command, for example `swarm sandbox exec ls -la`");
    const request = {
      command,
      sandbox: textOption(options, "sandbox"),
      onOutput: (chunk: Parameters<Output["stream"]>[0]) => output.stream(chunk),
    };
    const { exitCode, stdout, stderr, durationMs } = options["interactive"]
      ? await output.withInput((input) => execInSandbox(project, { ...request, input }, signal))
      : await execInSandbox(project, request, signal);
    output.result({ exitCode, stdout, stderr, durationMs });
    return exitCode;
  });

export const sandboxCpCommand: CommandHandler = async ({ project, output, signal }, args) => {
  const copied = await copySandboxFiles(
    project,
    { from: argumentAt(args, 0), to: argumentAt(args, 1) },
    signal,
  );
  output.result(copied, () => [`${copied.from} → ${copied.to}`]);
};

export const sandboxLogsCommand: CommandHandler = async ({ project, output, signal }, args, options) => {
  const wanted = options["stdout"] || options["stderr"];
  const request = { sandbox: nameAt(args), follow: options["follow"] === true };
  for await (const chunk of readSandboxLogs(project, request, signal))
    if (!wanted || options[chunk.stream]) await output.stream(chunk);
};

export const sandboxLsCommand: CommandHandler = async ({ project, output }, _args, options) => {
  const { records, problems } = await listSandboxes(project);
  const shown = options["all"] ? records : records.filter(({ status }) => status !== "destroyed");
  for (const problem of problems) output.note(`! ${problem}`);
  output.result(shown, () =>
    shown.length === 0
      ? []
      : alignTable([
          ["ID", "NAME", "STATUS", "TASK", "EXIT", "TOOK", "IMAGE", "ISOLATION", "REASON"],
          ...shown.map((record) => [
            record.id,
            record.sandbox,
            record.status,
            record.task ?? "-",
            String(record.exitCode ?? "-"),
            record.duration === null ? "-" : formatDuration(record.duration),
            record.image,
            record.isolation.level,
            record.reason?.message ?? "",
          ]),
        ]),
  );
  if (shown.length === 0) output.note("This folder has no sandboxes.");
  output.next(suggestNextSandboxCommand(shown));
};

export const sandboxStatsCommand: CommandHandler = async ({ project, output, signal }, args) => {
  const measured = await measureSandbox(project, nameAt(args), signal);
  output.result(measured, () =>
    alignTable([
      ["cpu", `${measured.cpuPercent.toFixed(1)} %`],
      ["memory", `${formatBytes(measured.memoryBytes)} of ${formatBytes(measured.memoryLimitBytes)}`],
      ["processes", String(measured.pids)],
      ["disk", measured.diskBytes === null ? "unknown" : formatBytes(measured.diskBytes)],
      ["network", `${formatBytes(measured.networkInBytes)} in, ${formatBytes(measured.networkOutBytes)} out`],
    ]),
  );
};

export const sandboxDestroyCommand: CommandHandler = async ({ project, output }, args, { all, purge }) => {
  const destroyed = await output.during("Destroying", (onStep) =>
    destroySandboxes(project, { sandbox: nameAt(args), all: all === true, purge: purge === true }, onStep),
  );
  output.result(destroyed, () => destroyed.map(({ id }) => `sandbox ${id} destroyed`));
  if (destroyed.length === 0) output.note("This folder has no sandboxes.");
};

function nameAt(args: CommandArguments): string | null {
  return args[0] === undefined ? null : argumentAt(args, 0);
}

function summaryLine({ id }: SandboxRecord, { status, exitCode, durationMs }: SandboxSummary): string {
  const exit = exitCode === null ? "" : `, exit ${exitCode}`;
  return `sandbox ${id}: ${status}${exit}${durationMs === null ? "" : `, ${formatDuration(durationMs)}`}`;
}
