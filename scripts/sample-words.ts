import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { root } from "./processes.ts";

// Prints a random sample of the project's texts for a reviewer: comments, identifiers, messages, sentences of pages and commit
// subjects. The reviewed commit is the seed: the author cannot choose the sample, and any reviewer can repeat it.

/** A text and its file. */
interface Words {
  readonly place: string;
  readonly text: string;
}

const git = (...args: string[]): string => execFileSync("git", args, { cwd: root, encoding: "utf8" }).trim();
const commit = git("rev-parse", process.argv[2] ?? "HEAD");
const files = git("ls-tree", "-r", "--name-only", commit).split("\n");
const product = files.filter(
  (file) => /^(?:src|adapter|gateway)\/.*\.ts$/.test(file) && !file.startsWith("src/contract/"),
);
const pages = files.filter((file) => /^(?:README|CONTRIBUTING|docs\/.*)\.md$/.test(file));

/** The order of a text in this commit's sample. */
const rank = ({ place, text }: Words): string =>
  createHash("sha256").update(`${commit}\0${place}\0${text}`).digest("hex");

function draw(count: number, all: readonly Words[]): readonly Words[] {
  return all
    .map((words) => [rank(words), words] as const)
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .slice(0, count)
    .map(([, words]) => words);
}

/** The matches of a pattern's first group in files, each joined into one line. */
function find(
  inFiles: readonly string[],
  pattern: RegExp,
  prepare = (text: string): string => text,
): Words[] {
  return inFiles.flatMap((file) =>
    [...prepare(readFileSync(join(root, file), "utf8")).matchAll(pattern)].map(({ 1: text = "" }) => ({
      place: file,
      text: text
        .replace(/\s*\n\s*(?:\*|\/\/)?\s*/g, " ")
        .replace(/^\* /, "")
        .trim(),
    })),
  );
}

/** The sentences of a page's prose, without tables, headings, code and lists of links. */
function sentences(file: string): Words[] {
  const prose = readFileSync(join(root, file), "utf8")
    .replace(/^```[\s\S]*?^```/gm, "")
    .split(/\n{2,}/)
    .filter((block) => /^[A-Z`*]/.test(block) && !block.includes("|"))
    .map((block) => block.replaceAll("\n", " "));
  return prose
    .flatMap((block) => block.match(/[^.!?]+[.!?](?=\s|$)/g) ?? [])
    .map((text) => ({ place: file, text: text.trim() }))
    .filter(({ text }) => /^[A-Z`*]/.test(text) && text.split(" ").length >= 6);
}

const withoutComments = (text: string): string => text.replaceAll(/\/\*[\s\S]*?\*\/|^ *\/\/.*$/gm, "");

/** Whether a quoted text is a whole sentence rather than code or the part before a quote in an expression. */
const isSentence = ({ text }: Words): boolean => {
  const plain = text.replaceAll(/\$\{[^}]*\}/g, "");
  return (
    (plain.match(/\b[a-z]{2,}\b/g) ?? []).length >= 4 &&
    !plain.includes("${") &&
    !/[=;/\\]|\$\{(?:paint|gap)/.test(text)
  );
};

const subjects = git("log", "--format=%s", "-60", commit)
  .split("\n")
  .map((text) => ({ place: "commit", text }));
const sample: readonly (readonly [kind: string, words: readonly Words[]])[] = [
  ["comments", draw(25, find(product, /(?:\/\*\*\s*([\s\S]*?)\s*\*\/)/g))],
  [
    "identifiers",
    draw(15, find(product, /^export (?:async )?(?:function|const|interface|type|class) (\w+)/gm)),
  ],
  ["messages", draw(15, find(product, /["`]([^"`\n]{20,})["`][,;)]/g, withoutComments).filter(isSentence))],
  ["sentences of pages", draw(15, pages.flatMap(sentences))],
  ["subjects of commits", draw(10, subjects)],
];
console.log(`Sample of ${commit}`);
for (const [kind, words] of sample) {
  console.log(`\n## ${kind}`);
  for (const [at, { place, text }] of words.entries()) console.log(`${at + 1}. ${text}   (${place})`);
}
