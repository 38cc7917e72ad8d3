/** Which nights a swarm is carried out in by itself. */
export interface ScheduledNight {
  readonly projectId: string;
  /** The worktree. */
  readonly root: string;
  /** The program, as a path. */
  readonly program: string;
  /** Of a day, by the machine's clock. */
  readonly at: { readonly hour: number; readonly minute: number };
  /** As cron has them: `*`, `1-5`, `mon,thu`. */
  readonly days: string;
  /** What the program needs to find the same engine as by day. */
  readonly environment: Readonly<Record<string, string>>;
  /** After `swarm`. */
  readonly words: readonly string[];
}

/** A line of ours in a crontab. */
export interface NightLine {
  readonly projectId: string;
  readonly line: string;
}

const mark = "# aimi-swarm ";
/** Longer commands are cut by cron, which says nothing. */
const longest = 990;
const log = ".aimi/reports/night.log";

/** `23:00`; null for what is no time of a day. */
export function timeOfDay(text: string): ScheduledNight["at"] | null {
  const [, hour, minute] = /^([01]?\d|2[0-3]):([0-5]\d)$/.exec(text) ?? [];
  return hour === undefined || minute === undefined ? null : { hour: Number(hour), minute: Number(minute) };
}

const names: readonly string[] = ["sun", "mon", "tue", "wed", "thu", "fri", "sat"];

function dayOf(text: string): number | null {
  return /^[0-7]$/.test(text) ? Number(text) : names.includes(text) ? names.indexOf(text) : null;
}

/** Whether these are days of a week as every cron has them. */
export function areDays(text: string): boolean {
  if (text === "*") return true;
  return text.split(",").every((part) => {
    const [from, to = from, ...more] = part.split("-").map(dayOf);
    return more.length === 0 && from != null && to != null && from <= to;
  });
}

/** The line of a crontab for it; null where no line can hold it. */
export function crontabLine(night: ScheduledNight): string | null {
  const { projectId, root, program, at, days, environment, words } = night;
  const variables = Object.entries(environment).map(([name, value]) => `${name}=${quoted(value)}`);
  const run = ["env", ...variables, quoted(program), ...words.map(quoted)].join(" ");
  const command = `cd ${quoted(root)} && mkdir -p .aimi/reports && ${run} >> ${log} 2>&1`;
  // cron makes an end of line of each % that is not escaped, and counts the backslashes before it.
  if (command.includes("\\%")) return null;
  const line = `${at.minute} ${at.hour} * * ${days} ${command.replaceAll("%", "\\%")} ${mark}${projectId}`;
  return /\p{Cc}/u.test(line) || new TextEncoder().encode(line).length > longest ? null : line;
}

/** A crontab with this line for a project instead of the one that it had; null for none. Nothing else in it is changed. */
export function withNight(crontab: string, projectId: string, line: string | null): string {
  const others = crontab.split("\n").filter((each) => ownerOf(each) !== projectId);
  if (others.at(-1) === "") others.pop();
  const lines = line === null ? others : [...others, line];
  return lines.length === 0 ? "" : `${lines.join("\n")}\n`;
}

/** The lines of ours in a crontab, of every project. */
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

/** One word for a shell. */
function quoted(text: string): string {
  return /^[\w@+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;
}
