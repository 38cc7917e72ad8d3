import { createHmac } from "node:crypto";
import { join } from "node:path";
import { readOrCreateSecret } from "../machine/secret-file.ts";
import { once } from "../text/once.ts";

/** Computes the seal of a sandbox's record: an HMAC of its text with a key that only this user can read. */
export type ComputeRecordSeal = (text: string) => Promise<string>;

/**
 * Creates the function that computes the seals of sandbox records. The HMAC key is in the user's state
 * folder, outside every repository.
 */
export function createRecordSeal(stateFolder: string): ComputeRecordSeal {
  const key = once(() => readOrCreateSecret(join(stateFolder, "record-key"), { bytes: 32 }));
  return async (text) =>
    createHmac("sha256", await key())
      .update(text)
      .digest("hex");
}
