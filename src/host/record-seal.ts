import { createHmac } from "node:crypto";
import { join } from "node:path";
import { once } from "../domain/once.ts";
import { ownSecret } from "./own-secret.ts";

/** Computes a seal of a text that only this user's swarm can compute. */
export type RecordSeal = (text: string) => Promise<string>;

/** Seals with a key in the user's state folder, into which no repository can place a file. */
export function recordSeal(stateFolder: string): RecordSeal {
  const key = once(() => ownSecret(join(stateFolder, "record-key"), { bytes: 32 }));
  return async (text) =>
    createHmac("sha256", await key())
      .update(text)
      .digest("hex");
}
