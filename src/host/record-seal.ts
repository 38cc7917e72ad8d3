import { createHmac } from "node:crypto";
import { join } from "node:path";
import { once } from "../domain/once.ts";
import { readOrCreateSecret } from "./own-secret.ts";

/** Computes the seal of a text: an HMAC with a key that only this user can read. */
export type ComputeRecordSeal = (text: string) => Promise<string>;

/**
 * Creates the function that computes seals. The key is in the user's state folder, into which no repository
 * can write.
 */
export function createRecordSeal(stateFolder: string): ComputeRecordSeal {
  const key = once(() => readOrCreateSecret(join(stateFolder, "record-key"), { bytes: 32 }));
  return async (text) =>
    createHmac("sha256", await key())
      .update(text)
      .digest("hex");
}
