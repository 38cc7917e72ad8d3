import { createHmac } from "node:crypto";
import { join } from "node:path";
import { once } from "../domain/once.ts";
import { ownSecret } from "./own-secret.ts";

/** What only this user's swarm can write under a text. */
export type RecordSeal = (text: string) => Promise<string>;

/** Seals with a key in the user's state folder, where no repository puts a file. */
export function recordSeal(stateFolder: string): RecordSeal {
  const key = once(() => ownSecret(join(stateFolder, "record-key"), { bytes: 32 }));
  return async (text) =>
    createHmac("sha256", await key())
      .update(text)
      .digest("hex");
}
