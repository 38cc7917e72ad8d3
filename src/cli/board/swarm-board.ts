import type { AdapterMessage } from "../../domain/acp-messages.ts";
import { cleanText } from "../../domain/clean-text.ts";
import type { SwarmState } from "../../domain/swarm-state.ts";
import type { SwarmEvent } from "../../swarm/swarm-deps.ts";
import { toJsonLine } from "../to-json.ts";
import { describeEvent, describeMessage } from "../worker-news.ts";
import { boardLines } from "./board-lines.ts";
import { openLiveLines, type Terminal } from "./live-lines.ts";
import type { Look } from "./worker-line.ts";
import { pictureOf, type WorkerPicture, withEvent, withSaid } from "./worker-picture.ts";

/** Shows a swarm to a person while it runs. */
export interface SwarmBoard {
  /** The workers there are; told again when some were added. */
  begun(state: SwarmState): void;
  /** What has to be done before workers can begin. */
  step(text: string): void;
  tell(event: SwarmEvent): void;
  /** What a worker said, by its slug. */
  message(slug: string, message: AdapterMessage): void;
  /** A remark that stays. */
  note(line: string): void;
  /** Nothing is shown any more. */
  close(): Promise<void>;
}

export interface BoardOptions extends Look {
  readonly mode: "tty" | "plain" | "json" | "quiet";
  readonly terminal: Terminal;
  readonly clock: BoardClock;
}

export interface BoardClock {
  /** Milliseconds that never go back. */
  now(): number;
  date(): Date;
}

/** Opens the board that fits: lines that are drawn again on a terminal, a line for each change elsewhere. */
export async function openSwarmBoard(options: BoardOptions): Promise<SwarmBoard> {
  const say = (line: string): void => void options.terminal.write(`${line}\n`);
  switch (options.mode) {
    case "tty":
      return drawnBoard(options);
    case "plain":
      return plainBoard(options.clock, say);
    case "json":
      return jsonBoard((event) => say(toJsonLine(event)));
    case "quiet":
      return jsonBoard(() => {});
  }
}

const drawMs = 250;
const tickMs = 1_000;

async function drawnBoard({ terminal, clock, unicode, style }: BoardOptions): Promise<SwarmBoard> {
  const live = await openLiveLines(terminal);
  const beganAt = clock.now();
  const workers = new Map<string, WorkerPicture>();
  let step: string | null = "the swarm";
  let stopping: string | null = null;
  let drawnAt = Number.NEGATIVE_INFINITY;
  let isClosed = false;
  let planned: { readonly at: number; readonly timer: NodeJS.Timeout } | null = null;

  const draw = (): void => {
    planned = null;
    drawnAt = clock.now();
    const picture = { workers: [...workers.values()], step, stopping, beganAt };
    const window = { columns: terminal.columns || 80, rows: terminal.rows || 24 };
    live.draw(boardLines(picture, window, { unicode, style, now: drawnAt }));
    // Time goes by where nothing else does.
    drawIn(tickMs);
  };
  const drawIn = (ms: number): void => {
    const at = clock.now() + ms;
    if (isClosed || (planned !== null && planned.at <= at)) return;
    if (planned !== null) clearTimeout(planned.timer);
    planned = { at, timer: setTimeout(draw, ms).unref() };
  };
  const drawSoon = (): void => drawIn(Math.max(0, drawnAt + drawMs - clock.now()));
  const change = (slug: string, changed: (picture: WorkerPicture) => WorkerPicture): void => {
    const picture = workers.get(slug);
    if (!picture) return;
    const next = changed(picture);
    workers.set(slug, next);
    if (next.status !== "waiting") step = null;
    drawSoon();
  };
  terminal.on("resize", drawSoon);
  // What is refused at once, or ends before anybody can read it, needs no picture.
  drawIn(drawMs);
  return {
    begun({ containers }) {
      for (const record of containers) {
        const picture = pictureOf(record);
        if (!workers.has(picture.slug)) workers.set(picture.slug, picture);
      }
      drawSoon();
    },
    step(text) {
      step = text;
      drawSoon();
    },
    tell(event) {
      const { worker } = event;
      if (worker !== undefined) change(worker, (picture) => withEvent(picture, event, clock.now()));
      else if (event.event === "stopping") {
        stopping = String(event["why"]);
        drawSoon();
      }
    },
    message: (slug, message) => change(slug, (picture) => withSaid(picture, message, clock.date())),
    note: (line) => live.above(line.split("\n")),
    async close() {
      isClosed = true;
      terminal.off("resize", drawSoon);
      if (planned !== null) clearTimeout(planned.timer);
      await live.end();
    },
  };
}

/** Between two lines on what a worker's agent does; statuses are told at once. */
const activityMs = 10_000;

function plainBoard(clock: BoardClock, say: (line: string) => void): SwarmBoard {
  const toldAt = new Map<string, number>();
  const tell = (line: string | null): void => {
    if (line !== null) say(cleanText(line, 1_000));
  };
  const isTooSoon = (slug: string): boolean => {
    const last = toldAt.get(slug) ?? Number.NEGATIVE_INFINITY;
    if (clock.now() - last < activityMs) return true;
    toldAt.set(slug, clock.now());
    return false;
  };
  return {
    begun() {},
    step: tell,
    tell: (event) => tell(describeEvent(event)),
    message(slug, message) {
      if (message.type !== "activity" || !isTooSoon(slug)) tell(describeMessage(slug, message));
    },
    note: say,
    async close() {},
  };
}

/** For programs: what happens, as it happens. */
function jsonBoard(write: (event: object) => void): SwarmBoard {
  return {
    begun() {},
    step: (text) => write({ event: "step", step: cleanText(text) }),
    tell: write,
    message: (worker, { type, payload }) => write({ event: "message", worker, type, payload }),
    note: (line) => write({ event: "note", text: line }),
    async close() {},
  };
}
