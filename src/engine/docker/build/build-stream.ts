import { SwarmError } from "../../../errors/errors.ts";
import { parseJsonOrNull } from "../../../text/parse-json-or-null.ts";
import { sanitizeLines } from "../../../text/sanitize-text.ts";
import type { ImageBuildEvent } from "../../images.ts";
import { readBuildkitStatus } from "./buildkit-progress.ts";

interface Line {
  readonly id?: string;
  readonly aux?: string | { readonly ID?: string } | null;
  readonly stream?: string;
  readonly error?: string;
}

const maxLineLength = 4 * 1024 * 1024;
const keptOutput = 8_000;

/**
 * Reads the engine's response to an image build, reports the build's steps, and returns the new image's ID.
 * Throws if the response contains an error message: even for a failed build, the HTTP status is 200.
 */
export async function readBuildStream(
  stream: AsyncIterable<Uint8Array | string>,
  image: string,
  onEvent: (event: ImageBuildEvent) => void,
): Promise<string> {
  const steps = stepReporter(onEvent);
  let id = "";
  let failure: string | undefined;
  for await (const line of linesOf(stream)) {
    if (line.error !== undefined) failure = String(line.error);
    else if (line.id === "moby.buildkit.trace") steps.buildkit(String(line.aux));
    else if (line.stream !== undefined) steps.classic(String(line.stream));
    if (typeof line.aux === "object" && line.aux?.ID) id = line.aux.ID;
  }
  if (failure !== undefined) {
    const { step, lastOutput } = steps.failed(failure);
    const reason = [failure, ...lastOutput].join("\n").slice(0, 4_000);
    throw new SwarmError("IMAGE_BUILD_FAILED", { image, step, reason });
  }
  steps.end();
  if (id !== "") return id;
  const reason = "the builder reported no image id";
  throw new SwarmError("IMAGE_BUILD_FAILED", { image, step: "", reason });
}

function stepReporter(onEvent: (event: ImageBuildEvent) => void) {
  const startedAt = new Map<string, number>();
  const done = new Set<string>();
  const nameByVertex = new Map<string, string>();
  const errorByStep = new Map<string, string>();
  const outputByStep = new Map<string, string>();
  let step = "";
  let stepStarted = performance.now();
  let stepCached = false;
  const keep = (writer: string, text: string): void => {
    outputByStep.set(writer, ((outputByStep.get(writer) ?? "") + text).slice(-keptOutput));
    onEvent({ kind: "output", text });
  };
  const endStep = (): void => {
    if (step) onEvent({ kind: "done", step, ms: performance.now() - stepStarted, cached: stepCached });
    stepCached = false;
  };

  return {
    buildkit(trace: string): void {
      const { vertices, logs } = readBuildkitStatus(trace);
      for (const { digest, name, cached, startedMs, completedMs, error } of vertices) {
        nameByVertex.set(digest, name);
        if (error) errorByStep.set(name, error);
        if (/^\[internal\]|^exporting|^copy \/context/.test(name)) continue;
        if (startedMs !== null && !startedAt.has(digest)) {
          startedAt.set(digest, startedMs);
          if (!cached) onEvent({ kind: "started", step: name });
        }
        if (completedMs !== null && !error && !done.has(digest)) {
          done.add(digest);
          onEvent({ kind: "done", step: name, ms: completedMs - (startedMs ?? completedMs), cached });
        }
      }
      for (const { vertex, text } of logs) keep(nameByVertex.get(vertex) ?? "", text);
    },

    classic(text: string): void {
      const [, next] = /^Step \d+\/\d+ : (.*)/.exec(text) ?? [];
      if (next !== undefined) {
        endStep();
        step = next.trim();
        stepStarted = performance.now();
        onEvent({ kind: "started", step });
      } else if (/^ ---> Using cache/.test(text)) stepCached = true;
      else if (!/^\n$|^ --->|^Removing intermediate|^Successfully/.test(text)) keep(step, text);
    },

    end(): void {
      if (startedAt.size === 0) endStep();
    },

    /** Returns the build step that failed with the given error, and the end of that step's output. */
    failed(failure: string) {
      // When a step fails, BuildKit cancels the steps that run in parallel. These steps have errors too, so
      // find the step whose error is the build's failure.
      const [first] = errorByStep.keys();
      const [cause] = [...errorByStep].find(([, error]) => failure.includes(error)) ?? [first ?? step];
      const lines = sanitizeLines(outputByStep.get(cause) ?? "").split("\n");
      const lastOutput = lines.map((line) => line.trimEnd()).filter(Boolean);
      return { step: cause, lastOutput: lastOutput.slice(-15) };
    },
  };
}

async function* linesOf(stream: AsyncIterable<Uint8Array | string>): AsyncGenerator<Line> {
  const decoder = new TextDecoder();
  let rest = "";
  for await (const bytes of stream) {
    const text = typeof bytes === "string" ? bytes : decoder.decode(bytes, { stream: true });
    const [first = "", ...more] = text.split("\n");
    // The rest of an overlong line is dropped, so the line is no valid message and is skipped.
    rest = rest.length > maxLineLength ? first : rest + first;
    for (const next of more) {
      yield* parsed(rest);
      rest = next;
    }
  }
  yield* parsed(rest);
}

function* parsed(line: string): Generator<Line> {
  // Ignore a line that is no message of the builder: it must not fail the build.
  const message = parseJsonOrNull(line);
  if (typeof message === "object" && message !== null) yield message;
}
