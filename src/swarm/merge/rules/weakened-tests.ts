import type { WeakenedTest } from "../../../contract/proof.ts";
import { sanitizeText } from "../../../text/sanitize-text.ts";

/** Matches the paths of test files, by the naming conventions of most programming languages. */
const testFile =
  /(?:^|\/)(?:tests?|__tests__|specs?)\/|(?:^|\/)test_[^/]+\.py$|[._-](?:test|spec)s?\.[^/]+$|(?:Test|Tests|Spec)\.[a-z]+$/;

/** Each pattern matches a line that begins a test, and captures the test's name if the line has it. */
const declarations: readonly RegExp[] = [
  /\b(?:it|test|specify|scenario)(?:\.\w+)*\s*\(\s*(["'`])(?<name>.+?)\1/,
  /\bit\s+(["'])(?<name>.+?)\1\s+do\b/,
  /\bdef\s+(?<name>test\w*)/,
  /\bfunc\s+(?<name>(?:Test|Fuzz|Example)\w*)\s*\(/,
  /^\s*(?<name>#\[(?:\w+::)?test\b|@Test\b|\[(?:Test|Fact|Theory)\b)/,
];

const skips =
  /\b(?:it|test|describe|suite|context)\.(?:skip|todo|only|fixme|fails)\b|\bx(?:it|test|describe)\s*\(|@pytest\.mark\.(?:skip|xfail)|@unittest\.(?:skip|expectedFailure)|\bpytest\.skip\(|\bt\.Skip(?:f|Now)?\(|#\[ignore\b|@(?:Disabled|Ignore)\b/;

const maxShown = 50;
/** The maximum number of test files and lines of tests to keep from a patch, to bound memory. */
const maxHeld = 20_000;

/**
 * A file of a patch that is, or was, a test file. Of its lines, only those that begin or skip a test are
 * kept.
 */
interface ChangedFile {
  /** The file's new path, sanitized for display. */
  readonly path: string;
  readonly from: string;
  readonly isTest: boolean;
  readonly wasTest: boolean;
  readonly isDeleted: boolean;
  readonly removed: TestLine[];
  readonly added: TestLine[];
  readonly addedSkips: string[];
  removedSkips: number;
}

interface TestLine {
  readonly name: string;
  readonly line: string;
}

export interface WeakenedTestFindings {
  readonly tests: readonly WeakenedTest[];
  /**
   * Whether the patch leaves fewer tests than before, or skips tests. Replacing a test by another is no loss.
   */
  readonly isLoss: boolean;
  /**
   * Whether the patch has more test files and lines of tests than `maxHeld`, so that some were not examined.
   */
  readonly isCut: boolean;
}

export interface WeakenedTestDetector {
  /** Processes the next line of a git patch. The patch must have no context lines. */
  readonly addPatchLine: (line: string) => void;
  /** Returns the tests that the patch deletes or skips. A test that the patch only moves does not count. */
  readonly findings: () => WeakenedTestFindings;
}

/**
 * Finds tests that a patch deletes or skips. Reads the patch line by line to bound memory, because a patch
 * can be very long.
 */
export function createWeakenedTestDetector(): WeakenedTestDetector {
  const files: ChangedFile[] = [];
  let held = 0;
  let head = { path: "", from: "", isDeleted: false };
  let file: ChangedFile | null = null;
  let [toRemove, toAdd] = [0, 0];

  const hold = (): boolean => ++held <= maxHeld;
  /**
   * Adds the patch's current file to `files` if it is or was a test file. Called only at the first hunk or
   * the next file, because only then the file's header is complete.
   */
  const begin = (): void => {
    const [isTest, wasTest] = [testFile.test(head.path), testFile.test(head.from)];
    if (file !== null || !(isTest || wasTest) || !hold()) return;
    file = {
      path: sanitizeText(head.path),
      from: sanitizeText(head.from),
      isTest,
      wasTest,
      isDeleted: head.isDeleted,
      removed: [],
      added: [],
      addedSkips: [],
      removedSkips: 0,
    };
    files.push(file);
  };

  return {
    /**
     * Counts the lines of each hunk to distinguish the patch's content from its headers, because a content
     * line can look like a header.
     */
    addPatchLine(line) {
      if (toRemove > 0 && line.startsWith("-")) {
        toRemove -= 1;
        removed(line.slice(1));
      } else if (toAdd > 0 && line.startsWith("+")) {
        toAdd -= 1;
        added(line.slice(1));
      } else if (line.startsWith("diff --git ")) {
        begin();
        // The header names the new path; a deleted file has the same path on both sides.
        const path = pathIn(line);
        head = { path, from: path, isDeleted: false };
        file = null;
      } else if (line.startsWith("deleted file mode")) head.isDeleted = true;
      else if (line.startsWith("rename from ")) head.from = line.slice("rename from ".length);
      else if (line.startsWith("@@ ")) {
        begin();
        const [, less = "1", more = "1"] = /^@@ -\d+(?:,(\d+))? \+\d+(?:,(\d+))? @@/.exec(line) ?? [];
        [toRemove, toAdd] = [Number(less), Number(more)];
      }
    },

    findings() {
      begin();
      return { ...weakeningIn(files), isCut: held > maxHeld };
    },
  };

  function removed(line: string): void {
    if (!file?.wasTest) return;
    const name = nameOfTest(line);
    if (name !== null && hold()) file.removed.push({ name, line });
    if (skips.test(line)) file.removedSkips += 1;
  }

  function added(line: string): void {
    // A test counts only in a test file, because test runners run no other files.
    const name = file?.isTest ? nameOfTest(line) : null;
    if (name !== null && hold()) file?.added.push({ name, line });
    if (file?.wasTest && skips.test(line) && hold()) file.addedSkips.push(line);
  }
}

function weakeningIn(files: readonly ChangedFile[]): Omit<WeakenedTestFindings, "isCut"> {
  const added = new Map<string, number>();
  for (const file of files) for (const { name } of file.added) count(added, name, 1);
  const tests: WeakenedTest[] = [];
  const counts = { deleted: 0, skipped: 0 };
  const report = (how: WeakenedTest["how"], path: string, line: string): void => {
    counts[how] += 1;
    if (tests.length < maxShown) tests.push({ path, how, line: sanitizeText(line.trim(), 200) });
  };
  for (const file of files.filter(({ wasTest }) => wasTest)) {
    if (!file.isTest)
      report("deleted", file.from, `the test file was renamed to ${file.path}, which is not a test file`);
    for (const { name, line } of file.removed)
      if ((added.get(name) ?? 0) > 0) count(added, name, -1);
      else report("deleted", file.path, line);
    if (isGoneAsAWhole(file)) report("deleted", file.path, "the whole file");
    for (const line of file.addedSkips.slice(file.removedSkips)) report("skipped", file.path, line);
  }
  let gained = 0;
  for (const { name } of files.flatMap((file) => file.added)) {
    if ((added.get(name) ?? 0) <= 0) continue;
    count(added, name, -1);
    gained += 1;
  }
  const isLoss =
    counts.deleted > gained || counts.skipped > 0 || files.some(isGoneAsAWhole) || files.some(isMovedOut);
  return { tests, isLoss };
}

/**
 * Whether the patch deletes a test file in which swarm recognised no test. Such a deletion is a loss, even if
 * other files gain tests.
 */
function isGoneAsAWhole({ isTest, isDeleted, removed }: ChangedFile): boolean {
  return isDeleted && isTest && removed.length === 0;
}

/** Whether a renamed file was a test file by its old name, but is no test file by its new name. */
function isMovedOut({ isTest, wasTest }: ChangedFile): boolean {
  return wasTest && !isTest;
}

const comment = /^\s*(?:\/\/|\/\*|\*|#(?!\[)|--|<!--)/;

function nameOfTest(line: string): string | null {
  if (comment.test(line)) return null;
  for (const declaration of declarations) {
    const name = declaration.exec(line)?.groups?.["name"];
    if (name !== undefined) return name;
  }
  return null;
}

function count(counts: Map<string, number>, name: string, more: number): void {
  counts.set(name, (counts.get(name) ?? 0) + more);
}

/**
 * Returns the new path from a patch's line `diff --git a/path b/path`. git quotes a path that has special
 * characters.
 */
function pathIn(header: string): string {
  return (/ "?b\/((?:(?! "?b\/).)*)$/.exec(header)?.[1] ?? header).replace(/"$/, "");
}
