import type { AdapterMessage } from "../../protocol/rules/protocol-messages.ts";
import type { SwarmState } from "../../state/rules/swarm-state.ts";
import type { SwarmEvent } from "../../swarm/worker/owner-services.ts";
import { sanitizeText } from "../../text/sanitize-text.ts";
import { describeOwnerEvent, describeWorkerMessage } from "../render/describe-worker-message.ts";
import { toJsonLine } from "../render/to-json.ts";
import { boardLines } from "./board-lines.ts";
import { openLiveLines, type Terminal } from "./live-lines.ts";
import type { TerminalStyle } from "./worker-line.ts";
import {
  applyAdapterMessageToView,
  applyOwnerEventToView,
  toWorkerView,
  type WorkerView,
} from "./worker-view.ts";

/** The board: a live view of a running swarm in the terminal. */
export interface SwarmBoard {
  /**
   * Adds all workers in the swarm's state to the view. The caller calls this function again after the swarm
   * has received more workers.
   */
  begun(state: SwarmState): void;
  /** Shows the current step of preparing the swarm, before workers start. */
  step(text: string): void;
  event(event: SwarmEvent): void;
  /** Shows a message from the adapter of the worker with this slug. */
  message(slug: string, message: AdapterMessage): void;
  /** Prints a note that stays on the terminal after the view is closed. */
  note(line: string): void;
  /** Removes the live view from the terminal. */
  close(): void;
}

export interface BoardOptions extends TerminalStyle {
  readonly mode: "tty" | "plain" | "json" | "quiet";
  readonly terminal: Terminal;
}

/**
 * Opens the live view in the given mode: `tty` redraws lines in place, `plain` prints a line for each change,
 * `json` prints events as JSON, and `quiet` prints nothing.
 */
export function openSwarmBoard(options: BoardOptions): SwarmBoard {
  const say = (line: string): void => void options.terminal.write(`${line}\n`);
  switch (options.mode) {
    case "tty":
      return drawnBoard(options);
    case "plain":
      return plainBoard(say);
    case "json":
      return jsonBoard((event) => say(toJsonLine(event)));
    case "quiet":
      return jsonBoard(() => {});
  }
}

const drawMs = 250;
const tickMs = 1_000;

function drawnBoard({ terminal, unicode, style }: BoardOptions): SwarmBoard {
  const live = openLiveLines(terminal);
  const beganAt = performance.now();
  const workers = new Map<string, WorkerView>();
  let step: string | null = "the swarm";
  let stopping: string | null = null;
  let drawnAt = Number.NEGATIVE_INFINITY;
  let isClosed = false;
  let planned: { readonly at: number; readonly timer: NodeJS.Timeout } | null = null;

  const draw = (): void => {
    planned = null;
    drawnAt = performance.now();
    const picture = { workers: [...workers.values()], step, stopping, beganAt };
    const window = { columns: terminal.columns || 80, rows: terminal.rows || 24 };
    live.draw(boardLines(picture, window, { unicode, style, now: drawnAt }));
    // Redraws even without an event, because elapsed times change.
    drawIn(tickMs);
  };
  const drawIn = (ms: number): void => {
    const at = performance.now() + ms;
    if (isClosed || (planned !== null && planned.at <= at)) return;
    if (planned !== null) clearTimeout(planned.timer);
    planned = { at, timer: setTimeout(draw, ms).unref() };
  };
  const drawSoon = (): void => drawIn(Math.max(0, drawnAt + drawMs - performance.now()));
  const change = (slug: string, changed: (picture: WorkerView) => WorkerView): void => {
    const picture = workers.get(slug);
    if (!picture) return;
    const next = changed(picture);
    workers.set(slug, next);
    if (next.status !== "waiting") step = null;
    drawSoon();
  };
  terminal.on("resize", drawSoon);
  // Delays the first drawing: a command that ends at once needs no board.
  drawIn(drawMs);
  return {
    begun({ containers }) {
      for (const record of containers) {
        const picture = toWorkerView(record);
        if (!workers.has(picture.slug)) workers.set(picture.slug, picture);
      }
      drawSoon();
    },
    step(text) {
      step = text;
      drawSoon();
    },
    event(event) {
      const { worker } = event;
      if (worker !== undefined)
        change(worker, (picture) => applyOwnerEventToView(picture, event, performance.now()));
      else if (event.event === "stopping") {
        stopping = String(event["why"]);
        drawSoon();
      }
    },
    message: (slug, message) =>
      change(slug, (picture) => applyAdapterMessageToView(picture, message, new Date())),
    note: (line) => live.printAbove(line.split("\n")),
    close() {
      isClosed = true;
      terminal.off("resize", drawSoon);
      if (planned !== null) clearTimeout(planned.timer);
      live.end();
    },
  };
}

/**
 * The minimum interval in milliseconds between two printed lines about the activity of the same worker. A
 * change of the worker's status is printed at once.
 */
const activityMs = 10_000;

function plainBoard(say: (line: string) => void): SwarmBoard {
  const toldAt = new Map<string, number>();
  const print = (line: string | null): void => {
    if (line !== null) say(sanitizeText(line, 1_000));
  };
  const isTooSoon = (slug: string): boolean => {
    const last = toldAt.get(slug) ?? Number.NEGATIVE_INFINITY;
    if (performance.now() - last < activityMs) return true;
    toldAt.set(slug, performance.now());
    return false;
  };
  return {
    begun() {},
    step: print,
    event: (event) => print(describeOwnerEvent(event)),
    message(slug, message) {
      if (message.type !== "activity" || !isTooSoon(slug)) print(describeWorkerMessage(slug, message));
    },
    note: say,
    close() {},
  };
}

/** Makes a board for programs, which passes each event to `write` as a JSON object. */
function jsonBoard(write: (event: object) => void): SwarmBoard {
  return {
    begun() {},
    step: (text) => write({ event: "step", step: sanitizeText(text) }),
    event: write,
    message: (worker, { type, payload }) => write({ event: "message", worker, type, payload }),
    note: (line) => write({ event: "note", text: line }),
    close() {},
  };
}
