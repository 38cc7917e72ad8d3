/** The fields that `swarm` uses from one of BuildKit's progress messages. */
export interface BuildkitStatus {
  readonly vertices: readonly BuildkitVertex[];
  readonly logs: readonly { readonly vertex: string; readonly text: string }[];
}

export interface BuildkitVertex {
  readonly digest: string;
  readonly name: string;
  readonly cached: boolean;
  readonly startedMs: number | null;
  readonly completedMs: number | null;
  readonly error: string;
}

/**
 * Parses BuildKit's progress, which the engine sends as base64 of a protobuf message
 * (`moby.buildkit.v1.StatusResponse`). Uses no protobuf library, because such a library takes long to load
 * and only a few fields are needed.
 */
export function readBuildkitStatus(base64: string): BuildkitStatus {
  const vertices: BuildkitVertex[] = [];
  const logs: { vertex: string; text: string }[] = [];
  for (const { field, value } of fieldsOf(Buffer.from(base64, "base64"))) {
    if (typeof value === "number") continue;
    const { number, text, time } = messageIn(value);
    if (field === 1)
      vertices.push({
        digest: text(1),
        name: text(3),
        cached: number(4) !== 0,
        startedMs: time(5),
        completedMs: time(6),
        error: text(7),
      });
    if (field === 3) logs.push({ vertex: text(1), text: text(4) });
  }
  return { vertices, logs };
}

/** Reads a protobuf message. If a field occurs more than once, its last value counts. */
function messageIn(bytes: Buffer) {
  const numbers = new Map<number, number>();
  const texts = new Map<number, Buffer>();
  for (const { field, value } of fieldsOf(bytes))
    if (typeof value === "number") numbers.set(field, value);
    else texts.set(field, value);
  return {
    number: (field: number): number => numbers.get(field) ?? 0,
    text: (field: number): string => texts.get(field)?.toString() ?? "",
    time(field: number): number | null {
      const timestamp = texts.get(field);
      if (!timestamp) return null;
      const part = messageIn(timestamp).number;
      return part(1) * 1000 + part(2) / 1e6;
    },
  };
}

/**
 * Yields the fields of a protobuf message as numbers and byte strings. Stops at malformed bytes without an
 * error.
 */
function* fieldsOf(bytes: Buffer): Generator<{ field: number; value: number | Buffer }> {
  let at = 0;
  const number = (): number => {
    let result = 0;
    for (let scale = 1; at < bytes.length; scale *= 128) {
      const byte = bytes[at++] ?? 0;
      result += (byte & 0x7f) * scale;
      if (byte < 0x80) break;
    }
    return result;
  };
  while (at < bytes.length) {
    const key = number();
    const field = Math.floor(key / 8);
    switch (key % 8) {
      case 0:
        yield { field, value: number() };
        break;
      case 1:
        at += 8;
        break;
      case 2: {
        const length = number();
        yield { field, value: bytes.subarray(at, at + length) };
        at += length;
        break;
      }
      case 5:
        at += 4;
        break;
      default:
        return;
    }
  }
}
