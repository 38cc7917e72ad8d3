import { cleanText } from "./clean-text.ts";
import type { WeakenedTest } from "./generated/proof.ts";

/** The files of tests, by the names that they have in most languages. */
const testFile =
  /(?:^|\/)(?:tests?|__tests__|specs?)\/|(?:^|\/)test_[^/]+\.py$|[._-](?:test|spec)s?\.[^/]+$|(?:Test|Tests|Spec)\.[a-z]+$/;

/** What begins a test, and its name where the line has it. */
const declarations: readonly RegExp[] = [
  /\b(?:it|test|specify|scenario)(?:\.\w+)*\s*\(\s*(["'`])(?<name>.+?)\1/,
  /\bit\s+(["'])(?<name>.+?)\1\s+do\b/,
  /\bdef\s+(?<name>test\w*)/,
  /\bfunc\s+(?<name>(?:Test|Fuzz|Example)\w*)\s*\(/,
  /^\s*(?<name>#\[(?:\w+::)?test\b|@Test\b|\[(?:Test|Fact|Theory)\b)/,
];

const skips =
  /\b(?:it|test|describe|suite|context)\.(?:skip|todo|only|fixme|fails)\b|\bx(?:it|test|describe)\s*\(|@pytest\.mark\.(?:skip|xfail)|@unittest\.(?:skip|expectedFailure)|\bpytest\.skip\(|\bt\.Skip(?:f|Now)?\(|#\[ignore\b|@(?:Disabled|Ignore)\b/;

const mostTold = 50;

interface ChangedFile {
  readonly path: string;
  /** Where it was before. */
  from: string;
  isDeleted: boolean;
  readonly removed: string[];
  readonly added: string[];
}

export interface FoundWeakening {
  readonly tests: readonly WeakenedTest[];
  /** Whether there are fewer tests than before, or some that do not run any more; who rewrites them has as many. */
  readonly isLoss: boolean;
}

/** Tests that a change deletes or skips, from its patch without context. One that only moves is neither. */
export function weakenedTests(patch: string): FoundWeakening {
  const files = changedFiles(patch);
  const tests = files.filter(({ path }) => testFile.test(path));
  // What stands in other files runs as no test.
  const added = new Map<string, number>();
  for (const file of tests) for (const line of file.added) count(added, nameOfTest(line), 1);
  const found: WeakenedTest[] = [];
  const tell = (how: WeakenedTest["how"], { path }: ChangedFile, line: string): void => {
    found.push({ path: cleanText(path), how, line: cleanText(line.trim(), 200) });
  };
  for (const file of files.filter(({ from }) => testFile.test(from))) {
    if (!testFile.test(file.path)) tell("deleted", { ...file, path: file.from }, `it is ${file.path} now`);
    const declared = file.removed.filter((line) => nameOfTest(line) !== null);
    const gone = declared.filter((line) => {
      const name = nameOfTest(line) ?? "";
      const isElsewhere = (added.get(name) ?? 0) > 0;
      if (isElsewhere) count(added, name, -1);
      return !isElsewhere;
    });
    for (const line of gone) tell("deleted", file, line);
    if (isGoneAsAWhole(file)) tell("deleted", file, "the whole file");
    const skippedBefore = file.removed.filter((line) => skips.test(line)).length;
    for (const line of file.added.filter((each) => skips.test(each)).slice(skippedBefore))
      tell("skipped", file, line);
  }
  const gained = tests
    .flatMap((file) => file.added)
    .filter((line) => {
      const name = nameOfTest(line);
      const isLeft = name !== null && (added.get(name) ?? 0) > 0;
      if (isLeft) count(added, name, -1);
      return isLeft;
    }).length;
  const lost = found.filter(({ how }) => how === "deleted").length;
  const isLoss = lost > gained || lost < found.length || files.some(isGoneAsAWhole) || files.some(isMovedOut);
  return { tests: found.slice(0, mostTold), isLoss };
}

/** A file of tests in which none was recognised, so nobody can say whether others are as good. */
function isGoneAsAWhole({ path, isDeleted, removed }: ChangedFile): boolean {
  return isDeleted && testFile.test(path) && removed.every((line) => nameOfTest(line) === null);
}

/** What was a test by its name and is none any more. */
function isMovedOut({ path, from }: ChangedFile): boolean {
  return testFile.test(from) && !testFile.test(path);
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

function count(counts: Map<string, number>, name: string | null, more: number): void {
  if (name !== null) counts.set(name, (counts.get(name) ?? 0) + more);
}

/** Lines count as what they are by the numbers of their hunk, since their content may look like anything. */
function changedFiles(patch: string): ChangedFile[] {
  const files: ChangedFile[] = [];
  let file: ChangedFile | undefined;
  let [toRemove, toAdd] = [0, 0];
  for (const line of patch.split("\n")) {
    if (file && toRemove > 0 && line.startsWith("-")) {
      file.removed.push(line.slice(1));
      toRemove -= 1;
    } else if (file && toAdd > 0 && line.startsWith("+")) {
      file.added.push(line.slice(1));
      toAdd -= 1;
    } else if (line.startsWith("diff --git ")) {
      // By the new name; of a deleted file both are the same.
      const path = pathIn(line);
      file = { path, from: path, isDeleted: false, removed: [], added: [] };
      files.push(file);
    } else if (file && line.startsWith("deleted file mode")) file.isDeleted = true;
    else if (file && line.startsWith("rename from ")) file.from = line.slice("rename from ".length);
    else {
      const [, removed = "1", added = "1"] = /^@@ -\d+(?:,(\d+))? \+\d+(?:,(\d+))? @@/.exec(line) ?? [];
      if (line.startsWith("@@ ")) [toRemove, toAdd] = [Number(removed), Number(added)];
    }
  }
  return files;
}

/** `diff --git a/path b/path`, each in quotes where it has odd characters. */
function pathIn(header: string): string {
  return (/ "?b\/((?:(?! "?b\/).)*)$/.exec(header)?.[1] ?? header).replace(/"$/, "");
}
