import { JsonValueExtractor } from "./json-value-extractor.ts";
import type { ReportedUsage, UsageRecordReader } from "./read-usage.ts";
import { ServerSentEventParser } from "./server-sent-events.ts";
import { anthropicReader } from "./usage-anthropic.ts";
import { googleReader } from "./usage-google.ts";
import { openaiReader } from "./usage-openai.ts";

export type { ReportedUsage } from "./read-usage.ts";

/**
 * Reads the token usage from a model's answer while the gateway forwards the answer. Never throws, and uses a
 * limited amount of memory.
 */
export interface UsageReader {
  add(bytes: Uint8Array): void;
  end(): ReportedUsage;
}

const readers: Readonly<Record<"anthropic" | "openai" | "google", () => UsageRecordReader>> = {
  anthropic: anthropicReader,
  openai: openaiReader,
  google: googleReader,
};

export function createUsageReader(api: keyof typeof readers, contentType: string): UsageReader {
  const reader = readers[api]();
  const picker = new JsonValueExtractor(reader.paths, (record) => reader.take(record));
  const type = contentType.toLowerCase();
  if (type.includes("event-stream")) return eventReader(reader, picker);
  if (type.includes("json")) return textReader(reader, picker);
  return unknownReader(reader, picker);
}

function textReader(reader: UsageRecordReader, picker: JsonValueExtractor): UsageReader {
  return { add: (bytes) => picker.add(bytes), end: () => reader.result(picker.end()) };
}

const doneWord = "[DONE]";

function eventReader(reader: UsageRecordReader, picker: JsonValueExtractor): UsageReader {
  let beginning = "";
  const cutter = new ServerSentEventParser({
    data(bytes) {
      if (beginning.length < 16) beginning += Buffer.from(bytes.subarray(0, 16)).toString("latin1");
      picker.add(bytes);
    },
    end() {
      picker.end();
      if (beginning.trim() === doneWord) reader.done?.();
      beginning = "";
    },
  });
  return {
    add: (bytes) => cutter.add(bytes),
    end() {
      cutter.endEvent();
      return reader.result(false);
    },
  };
}

/**
 * Reads an answer of unknown content type as JSON if it begins with a bracket or brace, and otherwise as a
 * stream of events.
 */
function unknownReader(reader: UsageRecordReader, picker: JsonValueExtractor): UsageReader {
  let chosen: UsageReader | null = null;
  return {
    add(bytes) {
      const first = bytes.find((byte) => byte > 0x20);
      if (chosen === null && first === undefined) return;
      const isText = first === 0x7b || first === 0x5b;
      chosen ??= isText ? textReader(reader, picker) : eventReader(reader, picker);
      chosen.add(bytes);
    },
    end: () => (chosen ?? textReader(reader, picker)).end(),
  };
}
