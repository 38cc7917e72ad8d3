import { createHmac } from "node:crypto";
import { join } from "node:path";
import { once } from "../domain/once.ts";
import { readOrCreateSecret } from "./own-secret.ts";

/** Computes a seal of a text, which only the swarm program of this user can compute. */
export type ComputeRecordSeal = (text: string) => Promise<string>;

/**
 * Creates the seal function. Its key lies in the user's state folder, where no repository can place a file.
 */
export function createRecordSeal(stateFolder: string): ComputeRecordSeal {
  const key = once(() => readOrCreateSecret(join(stateFolder, "record-key"), { bytes: 32 }));
  return async (text) =>
    createHmac("sha256", await key())
      .update(text)
      .digest("hex");
}
