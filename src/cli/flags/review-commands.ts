import { type Command, lazy } from "./command.ts";

export const reviewCommands: readonly Command[] = [
  {
    name: "diff <worker>",
    description: "show a worker's changes that were imported into this repository",
    options: [["--stat", "show only the changed files with line counts"]],
    load: lazy(() => import("../commands/review/diff.ts"), "diffCommand"),
  },
  {
    name: "summary",
    description: "summarise each worker's work, cost and failures, and the next steps",
    options: [
      ["--markdown", "print the summary as Markdown"],
      ["--html", "print the summary as HTML, with a timeline of the workers"],
    ],
    load: lazy(() => import("../commands/review/summary.ts"), "summaryCommand"),
  },
  {
    name: "merge [workers...]",
    description: "merge results into one branch; each merge is checked in a fresh sandbox",
    options: [
      ["--into <branch>", "the target branch; the default is the swarm's own integration branch"],
      [
        "--check <command>",
        "the command that each merge must pass; the default is the repository's own tests",
      ],
      ["--no-check", "merge all results that do not conflict, without running checks"],
    ],
    load: lazy(() => import("../commands/review/merge.ts"), "mergeCommand"),
  },
];
