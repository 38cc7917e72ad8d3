import { SwarmError } from "../../../errors/errors.ts";
import type { OutputChunk } from "../../containers.ts";

const headerBytes = 8;

/**
 * The type of a frame that carries an error of the engine itself. Such a frame can arrive between frames of
 * the program's output.
 */
const engineError = 3;

/**
 * Splits the output of a program without a terminal into stdout and stderr. Unlike dockerode's demultiplexer,
 * reads the source only on demand. Throws if the stream ends inside a frame, because the connection then
 * broke.
 *
 * A frame consists of a type, three zero bytes, the length, and the program's bytes.
 */
export async function* demultiplex(
  source: AsyncIterable<Uint8Array>,
  command: string,
): AsyncGenerator<OutputChunk> {
  const header = new Uint8Array(headerBytes);
  let filled = 0;
  let remaining = 0;
  for await (const bytes of source) {
    for (let at = 0; at < bytes.length; ) {
      if (remaining > 0) {
        const end = Math.min(bytes.length, at + remaining);
        if (header[0] === engineError) {
          const reason = new TextDecoder().decode(bytes.subarray(at, end)).trim();
          throw new SwarmError("EXEC_FAILED", { command, reason: reason.slice(0, 300) });
        }
        yield { stream: header[0] === 2 ? "stderr" : "stdout", bytes: bytes.subarray(at, end) };
        remaining -= end - at;
        at = end;
      } else {
        const taken = Math.min(headerBytes - filled, bytes.length - at);
        header.set(bytes.subarray(at, at + taken), filled);
        filled += taken;
        at += taken;
        if (filled === headerBytes) {
          remaining = lengthIn(header, command);
          filled = 0;
        }
      }
    }
  }
  if (remaining > 0 || filled > 0)
    throw new SwarmError("ENGINE_UNREACHABLE", {
      tried: [`the engine's stream for ${command} ended in the middle of a message`],
    });
}

function lengthIn(header: Uint8Array, command: string): number {
  const [type = 0, ...zeros] = header.subarray(0, 4);
  if (type > engineError || zeros.some((byte) => byte !== 0))
    throw new SwarmError("EXEC_FAILED", {
      command,
      reason: "the engine's stream has an invalid frame header",
    });
  return new DataView(header.buffer).getUint32(4);
}
