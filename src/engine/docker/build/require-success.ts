import { engineFailed } from "../../engine-failed.ts";

const maxLength = 1_000_000;

/**
 * Reads the engine's answer to an import or a pull of an image. Throws if the answer contains an error
 * message: even for a failed operation, the HTTP status is 200.
 */
export async function requireSuccess(
  answer: AsyncIterable<Uint8Array | string> | NodeJS.ReadableStream,
  operation: string,
): Promise<void> {
  let text = "";
  for await (const bytes of answer) text = (text + String(bytes)).slice(-maxLength);
  const reason = /"error":\s*"([^"]*)"/.exec(text)?.[1];
  if (reason) throw engineFailed(operation, reason);
}
