import { cleanText } from "./clean-text.ts";
import type { WeakenedTest } from "./generated/proof.ts";

/** Paths of test files, as most languages name them. */
const testFile =
  /(?:^|\/)(?:tests?|__tests__|specs?)\/|(?:^|\/)test_[^/]+\.py$|[._-](?:test|spec)s?\.[^/]+$|(?:Test|Tests|Spec)\.[a-z]+$/;

/** Lines that begin a test, with its name if the line has it. */
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
/** The maximum number of test files, and of lines in them that begin or skip a test, in memory. */
const maxHeld = 20_000;

/** A file that is or was a test file, with its relevant lines only. */
interface ChangedFile {
  /** The path, safe to show. */
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

export interface FoundWeakening {
  readonly tests: readonly WeakenedTest[];
  /** Whether there are fewer tests than before, or some that no longer run; rewriting tests keeps their number. */
  readonly isLoss: boolean;
  /** Whether the patch has more tests than the limit. */
  readonly isCut: boolean;
}

export interface TestWatch {
  /** Takes the lines of a patch without context, in order. */
  readonly see: (line: string) => void;
  /** Tests that the patch deletes or skips. A test that only moves is neither. */
  readonly found: () => FoundWeakening;
}

/** Finds tests that a change deletes or skips. It reads line by line, since a patch can be far longer than its tests. */
export function watchTests(): TestWatch {
  const files: ChangedFile[] = [];
  let held = 0;
  let head = { path: "", from: "", isDeleted: false };
  let file: ChangedFile | null = null;
  let [toRemove, toAdd] = [0, 0];

  const hold = (): boolean => ++held <= maxHeld;
  /** Begins a file at its first hunk or at the next file: only then all lines of its header are known. */
  const begin = (): void => {
    const [isTest, wasTest] = [testFile.test(head.path), testFile.test(head.from)];
    if (file !== null || !(isTest || wasTest) || !hold()) return;
    file = {
      ...{ path: cleanText(head.path), from: cleanText(head.from), isTest, wasTest },
      ...{ isDeleted: head.isDeleted, removed: [], added: [], addedSkips: [], removedSkips: 0 },
    };
    files.push(file);
  };

  return {
    /** Distinguishes content from headers by the hunk's line counts, since content can look like a header. */
    see(line) {
      if (toRemove > 0 && line.startsWith("-")) {
        toRemove -= 1;
        removed(line.slice(1));
      } else if (toAdd > 0 && line.startsWith("+")) {
        toAdd -= 1;
        added(line.slice(1));
      } else if (line.startsWith("diff --git ")) {
        begin();
        // The new name; the names of a deleted file are equal.
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

    found() {
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
    // A test runner does not run other files.
    const name = file?.isTest ? nameOfTest(line) : null;
    if (name !== null && hold()) file?.added.push({ name, line });
    if (file?.wasTest && skips.test(line) && hold()) file.addedSkips.push(line);
  }
}

function weakeningIn(files: readonly ChangedFile[]): Omit<FoundWeakening, "isCut"> {
  const added = new Map<string, number>();
  for (const file of files) for (const { name } of file.added) count(added, name, 1);
  const tests: WeakenedTest[] = [];
  const counts = { deleted: 0, skipped: 0 };
  const report = (how: WeakenedTest["how"], path: string, line: string): void => {
    counts[how] += 1;
    if (tests.length < maxShown) tests.push({ path, how, line: cleanText(line.trim(), 200) });
  };
  for (const file of files.filter(({ wasTest }) => wasTest)) {
    if (!file.isTest) report("deleted", file.from, `it is ${file.path} now`);
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

/** A deleted test file in which no test was recognised, so that other tests cannot be counted against it. */
function isGoneAsAWhole({ isTest, isDeleted, removed }: ChangedFile): boolean {
  return isDeleted && isTest && removed.length === 0;
}

/** A file that was a test file by its name, and is none any more. */
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

/** `diff --git a/path b/path`, each in quotes where it has odd characters. */
function pathIn(header: string): string {
  return (/ "?b\/((?:(?! "?b\/).)*)$/.exec(header)?.[1] ?? header).replace(/"$/, "");
}
