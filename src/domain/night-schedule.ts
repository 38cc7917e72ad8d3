/** A schedule by which cron runs a swarm. */
export interface ScheduledNight {
  readonly projectId: string;
  /** The worktree's folder. */
  readonly root: string;
  /** The path of the program. */
  readonly program: string;
  /** The time of day, by the machine's clock. */
  readonly at: { readonly hour: number; readonly minute: number };
  /** The days of the week as cron writes them: `*`, `1-5`, `mon,thu`. */
  readonly days: string;
  /** Variables that the program needs to find the same engine as in the user's shell. */
  readonly environment: Readonly<Record<string, string>>;
  /** The words after `swarm`. */
  readonly words: readonly string[];
}

/** A line of swarm in a crontab. */
export interface NightLine {
  readonly projectId: string;
  readonly line: string;
}

const mark = "# aimi-swarm ";
/** cron cuts longer commands without an error. */
const maxLength = 990;
const log = ".aimi/reports/night.log";

/** Parses a time such as `23:00`; null for any other text. */
export function timeOfDay(text: string): ScheduledNight["at"] | null {
  const [, hour, minute] = /^([01]?\d|2[0-3]):([0-5]\d)$/.exec(text) ?? [];
  return hour === undefined || minute === undefined ? null : { hour: Number(hour), minute: Number(minute) };
}

const names: readonly string[] = ["sun", "mon", "tue", "wed", "thu", "fri", "sat"];

function dayOf(text: string): number | null {
  return /^[0-7]$/.test(text) ? Number(text) : names.includes(text) ? names.indexOf(text) : null;
}

/** Whether every cron accepts these days of the week. */
export function areDays(text: string): boolean {
  if (text === "*") return true;
  return text.split(",").every((part) => {
    const [from, to = from, ...more] = part.split("-").map(dayOf);
    return more.length === 0 && from != null && to != null && from <= to;
  });
}

/** The crontab's line for a schedule; null if no line can hold it. */
export function crontabLine(night: ScheduledNight): string | null {
  const { projectId, root, program, at, days, environment, words } = night;
  const variables = Object.entries(environment).map(([name, value]) => `${name}=${quoted(value)}`);
  const run = ["env", ...variables, quoted(program), ...words.map(quoted)].join(" ");
  const command = `cd ${quoted(root)} && mkdir -p .aimi/reports && ${run} >> ${log} 2>&1`;
  // cron turns each unescaped % into a line break, and a command's own backslash before it would change the escape.
  if (command.includes("\\%")) return null;
  const line = `${at.minute} ${at.hour} * * ${days} ${command.replaceAll("%", "\\%")} ${mark}${projectId}`;
  return /\p{Cc}/u.test(line) || new TextEncoder().encode(line).length > maxLength ? null : line;
}

/** A crontab with a project's line replaced, or removed for null; all other lines stay. */
export function withNight(crontab: string, projectId: string, line: string | null): string {
  const others = crontab.split("\n").filter((each) => ownerOf(each) !== projectId);
  if (others.at(-1) === "") others.pop();
  const lines = line === null ? others : [...others, line];
  return lines.length === 0 ? "" : `${lines.join("\n")}\n`;
}

/** Swarm's lines in a crontab, of every project. */
export function nightsIn(crontab: string): NightLine[] {
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
