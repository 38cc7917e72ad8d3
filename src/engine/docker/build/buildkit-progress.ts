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
    if (field === 1) vertices.push(vertexIn(value));
    if (field === 3) logs.push(logIn(value));
  }
  return { vertices, logs };
}

function vertexIn(bytes: Buffer): BuildkitVertex {
  const found = { digest: "", name: "", cached: false, error: "" };
  let startedMs: number | null = null;
  let completedMs: number | null = null;
  for (const { field, value } of fieldsOf(bytes)) {
    if (field === 4 && typeof value === "number") found.cached = value !== 0;
    if (typeof value === "number") continue;
    if (field === 1) found.digest = value.toString();
    if (field === 3) found.name = value.toString();
    if (field === 5) startedMs = timestampIn(value);
    if (field === 6) completedMs = timestampIn(value);
    if (field === 7) found.error = value.toString();
  }
  return { ...found, startedMs, completedMs };
}

function logIn(bytes: Buffer): { vertex: string; text: string } {
  const log = { vertex: "", text: "" };
  for (const { field, value } of fieldsOf(bytes)) {
    if (typeof value === "number") continue;
    if (field === 1) log.vertex = value.toString();
    if (field === 4) log.text = value.toString();
  }
  return log;
}

function timestampIn(bytes: Buffer): number {
  let ms = 0;
  for (const { field, value } of fieldsOf(bytes)) {
    if (typeof value !== "number") continue;
    if (field === 1) ms += value * 1000;
    if (field === 2) ms += value / 1e6;
  }
  return ms;
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
