import { invalidValue } from "../../../errors/errors.ts";
import { exitCodes } from "../../../errors/exit-codes.ts";
import {
  installCrontabLine,
  listCrontabLines,
  planCrontabLine,
  removeCrontabLines,
} from "../../../swarm/schedule/crontab-lines.ts";
import { isWeekdayList, parseTimeOfDay } from "../../../swarm/schedule/rules/cron-schedule.ts";
import { sanitizeText } from "../../../text/sanitize-text.ts";
import { type CommandHandler, type CommandOptions, variadicArgumentAt } from "../../flags/command.ts";
import { parseFlags } from "../../flags/parse-flags.ts";
import { settingsFromFlags } from "../../flags/setting-flags.ts";
import { startCommandFlags } from "../../flags/start-flags.ts";
import { askForConfirmation } from "../../render/ask-for-confirmation.ts";
import { parseUnattendedOptions } from "../../unattended-options.ts";
import { parseOwnerRequest } from "../start/start.ts";

const maxLength = 1_000;

export const scheduleInstallCommand: CommandHandler = async ({ project, output }, args, options) => {
  const { yes, days = "*", at: time = "" } = options;
  const at = parseTimeOfDay(String(time));
  if (at === null) throw invalidValue("--at", time, "a time of day such as 23:00");
  if (!isWeekdayList(String(days)))
    throw invalidValue("--days", days, "days in cron's notation, such as mon-fri or 1,4");
  const line = await planCrontabLine(project, {
    at,
    days: String(days),
    commandArguments: nightWords(options, variadicArgumentAt(args, 0)),
  });
  output.note("swarm will write this line to your crontab. It replaces any existing line of this project:");
  output.note(`  ${sanitizeText(line, maxLength)}`);
  if (yes !== true && !(await askForConfirmation(output, "Write this line?"))) {
    output.result({ line, written: false }, () => ["The crontab was not changed."]);
    return exitCodes.usage;
  }
  const isNew = await installCrontabLine(project, line);
  output.result({ line, written: isNew }, () => [
    isNew
      ? `Your crontab now starts the swarm at ${time}, provided that a cron daemon runs.`
      : "Your crontab already has this line.",
  ]);
  output.next("`swarm schedule list`; the output of scheduled swarms goes to .aimi/reports/night.log");
  return exitCodes.done;
};

export const scheduleListCommand: CommandHandler = async ({ project, output }) => {
  const nights = await listCrontabLines(project);
  output.result({ nights }, () =>
    nights.length === 0
      ? ["No swarm is scheduled."]
      : nights.map(({ line, isHere }) => sanitizeText(`${isHere ? "here " : "other"}  ${line}`, maxLength)),
  );
};

export const scheduleRemoveCommand: CommandHandler = async ({ project, output }) => {
  const removed = await removeCrontabLines(project);
  output.result({ removed }, () =>
    removed.length === 0
      ? ["No swarm of this project is scheduled."]
      : removed.map((line) => sanitizeText(`removed  ${line}`, maxLength)),
  );
};

/**
 * Returns the arguments of the command that cron will run. Validates them now, because no user sees an error
 * when cron runs the command.
 */
function nightWords({ until, notify, merge }: CommandOptions, more: readonly string[]): readonly string[] {
  const then = merge === false ? undefined : "merge";
  parseUnattendedOptions({ until, notify, then }, { json: false });
  const options = parseFlags(startCommandFlags, more);
  parseOwnerRequest(options);
  settingsFromFlags(options, []);
  return [
    "start",
    "--all",
    ...(until === undefined ? [] : ["--until", String(until)]),
    ...(then === undefined ? [] : ["--then", then]),
    ...(notify === undefined ? [] : ["--notify", String(notify)]),
    ...more,
  ];
}
