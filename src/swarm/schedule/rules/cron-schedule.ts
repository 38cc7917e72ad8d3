/** A schedule by which cron starts a swarm in one git worktree. */
export interface SwarmCronSchedule {
  readonly projectId: string;
  /** The path of the worktree's root folder. */
  readonly root: string;
  /** The path of the executable `swarm`. */
  readonly program: string;
  /** The time of day at which cron starts the swarm, on this machine's clock. */
  readonly at: { readonly hour: number; readonly minute: number };
  /** The days of the week in cron's syntax, such as `*`, `1-5` or `mon,thu`. */
  readonly days: string;
  /**
   * Environment variables that cron passes to swarm, so that swarm finds the same container engine as in the
   * user's shell.
   */
  readonly environment: Readonly<Record<string, string>>;
  /** The arguments with which cron calls swarm. */
  readonly commandArguments: readonly string[];
}

/** A line that swarm wrote to the user's crontab for one project. */
export interface ProjectCrontabLine {
  readonly projectId: string;
  readonly line: string;
}

const mark = "# aimi-swarm ";
/** The maximum length of a crontab line in bytes. cron cuts longer commands without reporting an error. */
const maxLength = 990;
const log = ".aimi/reports/night.log";

/** Parses a time of day such as `23:00`. Returns null for any other text. */
export function parseTimeOfDay(text: string): SwarmCronSchedule["at"] | null {
  const [, hour, minute] = /^([01]?\d|2[0-3]):([0-5]\d)$/.exec(text) ?? [];
  return hour === undefined || minute === undefined ? null : { hour: Number(hour), minute: Number(minute) };
}

const names: readonly string[] = ["sun", "mon", "tue", "wed", "thu", "fri", "sat"];

function dayOf(text: string): number | null {
  return /^[0-7]$/.test(text) ? Number(text) : names.includes(text) ? names.indexOf(text) : null;
}

/** Returns whether every implementation of cron accepts this list of days of the week. */
export function isWeekdayList(text: string): boolean {
  if (text === "*") return true;
  return text.split(",").every((part) => {
    const [from, to = from, ...more] = part.split("-").map(dayOf);
    return more.length === 0 && from != null && to != null && from <= to;
  });
}

/**
 * Formats a schedule as a crontab line. Returns null if the line would be too long, or if crontab syntax
 * cannot express it.
 */
export function crontabLine(night: SwarmCronSchedule): string | null {
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

/**
 * Replaces the line of a project in the text of a crontab, or removes it if `line` is null. All other lines
 * stay unchanged.
 */
export function replaceCrontabLine(crontab: string, projectId: string, line: string | null): string {
  const others = crontab.split("\n").filter((each) => ownerOf(each) !== projectId);
  if (others.at(-1) === "") others.pop();
  const lines = line === null ? others : [...others, line];
  return lines.length === 0 ? "" : `${lines.join("\n")}\n`;
}

/** Returns all lines in the text of a crontab that swarm wrote, for any project. */
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

/** Quotes a text so that a POSIX shell reads it as one word. */
function quoted(text: string): string {
  return /^[\w@+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;
}
