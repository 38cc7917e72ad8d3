/** Overwrites secrets in a stream of bytes, even secrets that are split over several pieces. */
export interface SecretScrubber {
  /**
   * Adds the next piece of the stream and returns the bytes that are safe to forward. Holds back bytes at the
   * end that may be the beginning of a secret.
   */
  push(piece: Uint8Array): Uint8Array;
  /** Returns the bytes that are still held back. Call this function at the end of the stream. */
  rest(): Uint8Array;
}

/**
 * The minimum length of a secret in characters. Shorter secrets are not overwritten, because they would match
 * ordinary text.
 */
const shortest = 8;
const nothing = new Uint8Array(0);

/**
 * Creates a scrubber that overwrites each secret with stars of the same length, so that `content-length`
 * stays right.
 */
export function createSecretScrubber(secrets: readonly string[]): SecretScrubber {
  const wanted = [...new Set(secrets)]
    .filter(({ length }) => length >= shortest)
    .map((each) => Buffer.from(each));
  let kept: Uint8Array = nothing;
  return {
    push(piece) {
      const bytes = Buffer.concat([kept, piece]);
      for (const secret of wanted)
        for (let at = bytes.indexOf(secret); at >= 0; at = bytes.indexOf(secret, at + secret.length))
          bytes.fill("*", at, at + secret.length);
      const waiting = Math.max(0, ...wanted.map((secret) => begunLength(bytes, secret)));
      kept = bytes.subarray(bytes.length - waiting);
      return bytes.subarray(0, bytes.length - waiting);
    },
    rest() {
      const last = kept;
      kept = nothing;
      return last;
    },
  };
}

/** Returns the secrets in headers: each whole value, and the part after a scheme such as `Bearer`. */
export function secretsInHeaders(values: readonly string[]): string[] {
  return values.flatMap((value) => [value, value.split(" ").at(-1) ?? ""]);
}

export function scrubSecrets(text: string, secrets: readonly string[]): string {
  return secrets
    .filter(({ length }) => length >= shortest)
    .reduce((scrubbed, secret) => scrubbed.replaceAll(secret, "*".repeat(secret.length)), text);
}

/** Returns how many bytes at the end of `bytes` match the beginning of the secret. */
function begunLength(bytes: Buffer, secret: Buffer): number {
  for (let length = Math.min(secret.length - 1, bytes.length); length > 0; length -= 1)
    if (bytes.subarray(bytes.length - length).equals(secret.subarray(0, length))) return length;
  return 0;
}
