import { mkdir, open, readFile } from "node:fs/promises";
import { dirname } from "node:path";
import { ifMissing } from "../errors/system-errors.ts";
import type { LedgerFile } from "./project-tasks.ts";
import { parseTaskLedgerLine } from "./rules/ledger.ts";

/**
 * Reads the ledger, which records the outcomes of tasks, and adds lines to it. Each line is a JSON object.
 */
export function ledgerFile(file: string): LedgerFile {
  return {
    async read() {
      const text = await readFile(file, "utf8").catch(ifMissing(""));
      return text.split("\n").flatMap((line) => parseTaskLedgerLine(line) ?? []);
    },

    async add(lines) {
      if (lines.length === 0) return;
      await mkdir(dirname(file), { recursive: true });
      await using handle = await open(file, "a");
      // The leading line break ends an incomplete line of a writer that was killed.
      await handle.write(`\n${lines.map((line) => JSON.stringify(line)).join("\n")}\n`);
      await handle.datasync();
    },
  };
}
