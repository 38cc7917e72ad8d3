import { type ErrorEntry, entry } from "./error-entry.ts";
import { exitCodes } from "./exit-codes.ts";
import { type Place, showPlace } from "./place.ts";

/** What must be told to each error about containers, images and sandboxes; the wording is below, once. */
export interface SandboxErrorFacts {
  // Words and files for sandboxes
  SANDBOX_SPEC_INVALID: { readonly place: Place; readonly problem: string; readonly hint: string };
  // Containers
  // Commands and files in containers
  ARCHIVE_REFUSED: { readonly entry: string; readonly reason: string };
  // Limits
  // Images
}

const { usage, conflict } = exitCodes;

export const sandboxCatalogue: {
  readonly [Code in keyof SandboxErrorFacts]: ErrorEntry<SandboxErrorFacts[Code]>;
} = {
  // Words and files for sandboxes
  SANDBOX_SPEC_INVALID: entry(
    usage,
    (f) => `${showPlace(f.place)}: ${f.problem}`,
    (f) => f.hint,
  ),

  // Containers

  // Commands and files in containers
  ARCHIVE_REFUSED: entry(
    conflict,
    (f) => `What came out of the container was refused at ${JSON.stringify(f.entry)}: ${f.reason}`,
    () => "Nothing was kept of it. Only plain files and folders with plain names leave a sandbox.",
  ),

  // Limits

  // Images
};
