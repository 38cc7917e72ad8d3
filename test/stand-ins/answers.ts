import { randomBytes } from "node:crypto";
import type { StandInUsage } from "./scenarios.ts";
import type { ToolCall } from "./tool-calls.ts";

/** One answer of the model, before it is put into the words of an API. */
export interface Answer {
  readonly model: string;
  readonly thinking: string | undefined;
  readonly text: string | undefined;
  readonly calls: readonly ToolCall[];
  readonly stop: "end" | "max_tokens" | "refusal";
  readonly usage: StandInUsage;
}

/** One piece of a stream; `event` where the API names its pieces. */
export interface Piece {
  readonly event?: string;
  readonly data: unknown;
}

/** An API's way to say things. */
export interface ApiWords {
  whole(answer: Answer): unknown;
  pieces(answer: Answer): Iterable<Piece>;
  error(status: number, message: string): unknown;
  /** Said in the midst of a stream. */
  streamError(message: string): Piece;
}

export function newId(prefix: string): string {
  return `${prefix}${randomBytes(9).toString("hex")}`;
}

/** A text as a model streams it; long ones in longer parts. */
export function parts(text: string): string[] {
  const length = text.length > 10_000 ? 4096 : 24;
  const count = Math.ceil(text.length / length);
  return Array.from({ length: count }, (_, index) => text.slice(index * length, (index + 1) * length));
}
