/** A cron schedule that starts a swarm in one worktree. */
export interface NightlySchedule {
  readonly projectId: string;
  /** The path of the worktree's folder. */
  readonly root: string;
  /** The path of swarm's executable. */
  readonly program: string;
  /** The time of day at which cron starts the swarm, by the machine's clock. */
  readonly at: { readonly hour: number; readonly minute: number };
  /** The days of the week as cron writes them: `*`, `1-5`, `mon,thu`. */
  readonly days: string;
  /** Environment variables with which swarm finds the same engine under cron as in the user's shell. */
  readonly environment: Readonly<Record<string, string>>;
  /** The command-line arguments of swarm. */
  readonly commandArguments: readonly string[];
}

/** A crontab line that swarm wrote for a project. */
export interface ProjectCrontabLine {
  readonly projectId: string;
  readonly line: string;
}

const mark = "# aimi-swarm ";
/** The maximum length of a crontab line in bytes: cron cuts longer commands without an error. */
const maxLength = 990;
const log = ".aimi/reports/night.log";

/** Parses a time such as `23:00`; null for any other text. */
export function parseTimeOfDay(text: string): NightlySchedule["at"] | null {
  const [, hour, minute] = /^([01]?\d|2[0-3]):([0-5]\d)$/.exec(text) ?? [];
  return hour === undefined || minute === undefined ? null : { hour: Number(hour), minute: Number(minute) };
}

const names: readonly string[] = ["sun", "mon", "tue", "wed", "thu", "fri", "sat"];

function dayOf(text: string): number | null {
  return /^[0-7]$/.test(text) ? Number(text) : names.includes(text) ? names.indexOf(text) : null;
}

/** Whether every implementation of cron accepts this list of week days. */
export function isWeekdayList(text: string): boolean {
  if (text === "*") return true;
  return text.split(",").every((part) => {
    const [from, to = from, ...more] = part.split("-").map(dayOf);
    return more.length === 0 && from != null && to != null && from <= to;
  });
}

/** Renders a schedule as a crontab line; null if the line is too long or crontab syntax cannot express it. */
export function crontabLine(night: NightlySchedule): string | null {
  const { projectId, root, program, at, days, environment, commandArguments } = night;
  const variables = Object.entries(environment).map(([name, value]) => `${name}=${quoted(value)}`);
  const run = ["env", ...variables, quoted(program), ...commandArguments.map(quoted)].join(" ");
  const command = `cd ${quoted(root)} && mkdir -p .aimi/reports && ${run} >> ${log} 2>&1`;
  // cron turns an unescaped % into a line break. A backslash before a % in the command would undo the
  // escaping below.
  if (command.includes("\\%")) return null;
  const line = `${at.minute} ${at.hour} * * ${days} ${command.replaceAll("%", "\\%")} ${mark}${projectId}`;
  return /\p{Cc}/u.test(line) || new TextEncoder().encode(line).length > maxLength ? null : line;
}

/** Replaces a project's line in a crontab, or removes the line if `line` is null. All other lines stay. */
export function replaceCrontabLine(crontab: string, projectId: string, line: string | null): string {
  const others = crontab.split("\n").filter((each) => ownerOf(each) !== projectId);
  if (others.at(-1) === "") others.pop();
  const lines = line === null ? others : [...others, line];
  return lines.length === 0 ? "" : `${lines.join("\n")}\n`;
}

/** Returns the crontab lines that swarm wrote, for all projects. */
export function findCrontabLines(crontab: string): ProjectCrontabLine[] {
  return crontab.split("\n").flatMap((line) => {
    const projectId = ownerOf(line);
    return projectId === null ? [] : [{ projectId, line }];
  });
}

function ownerOf(line: string): string | null {
  if (line.trimStart().startsWith("#")) return null;
  const at = line.lastIndexOf(mark);
  return at < 0 ? null : line.slice(at + mark.length).trim();
}

/** Quotes one word for a shell. */
function quoted(text: string): string {
  return /^[\w@+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;
}
