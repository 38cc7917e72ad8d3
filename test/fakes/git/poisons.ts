import { chmodSync, rmSync } from "node:fs";
import { git, write } from "./repository.ts";

/** Something that an agent can leave in its repository, and the harmless command by which it runs where git is used there. */
export interface Poison {
  readonly name: string;
  /** Files of the work itself. */
  readonly files?: Readonly<Record<string, string>>;
  readonly plant: (agent: string, program: string) => void;
  readonly touch: (agent: string) => void;
}

const config = (agent: string, name: string, value: string): void => {
  git(agent, "config", name, value);
};
const hook = (agent: string, name: string, program: string): void => {
  const file = write(agent, `.git/hooks/${name}`, `#!/bin/sh\n${program}\n`);
  chmodSync(file, 0o755);
};

export const poisons: readonly Poison[] = [
  {
    name: "fsmonitor",
    plant: (agent, program) => config(agent, "core.fsmonitor", program),
    touch: (agent) => git(agent, "status"),
  },
  {
    name: "post-checkout hook",
    plant: (agent, program) => hook(agent, "post-checkout", program),
    touch: (agent) => git(agent, "checkout", "--quiet", "--detach"),
  },
  {
    name: "reference-transaction hook",
    plant: (agent, program) => hook(agent, "reference-transaction", program),
    touch: (agent) => git(agent, "update-ref", "refs/heads/x", "HEAD"),
  },
  {
    name: "hooks in the work",
    files: { "hooks/pre-commit": "#!/bin/sh\n$CANARY\n" },
    plant: (agent, program) => {
      chmodSync(write(agent, "hooks/pre-commit", `#!/bin/sh\n${program}\n`), 0o755);
      config(agent, "core.hooksPath", "hooks");
    },
    touch: (agent) => git(agent, "commit", "--allow-empty", "--message", "x"),
  },
  {
    name: "sshCommand",
    plant: (agent, program) => {
      config(agent, "core.sshCommand", program);
      config(agent, "remote.origin.url", "ssh://localhost/x");
    },
    touch: (agent) => git(agent, "fetch"),
  },
  {
    name: "ext transport",
    plant: (agent, program) => {
      config(agent, "protocol.ext.allow", "always");
      config(agent, "remote.origin.url", `ext::${program}`);
    },
    touch: (agent) => git(agent, "fetch"),
  },
  {
    name: "clean filter",
    files: { ".gitattributes": "*.txt filter=run\n", "a.txt": "a" },
    plant: (agent, program) => config(agent, "filter.run.clean", program),
    touch: (agent) => {
      write(agent, "a.txt", "b");
      git(agent, "add", "a.txt");
    },
  },
  {
    name: "smudge filter",
    files: { ".gitattributes": "*.txt filter=run\n", "a.txt": "a" },
    plant: (agent, program) => config(agent, "filter.run.smudge", program),
    touch: (agent) => {
      rmSync(`${agent}/a.txt`);
      git(agent, "checkout", "--", "a.txt");
    },
  },
  {
    name: "external diff",
    plant: (agent, program) => config(agent, "diff.external", program),
    touch: (agent) => {
      write(agent, "README.md", "other");
      git(agent, "diff");
    },
  },
  {
    name: "text conversion",
    files: { ".gitattributes": "*.txt diff=run\n", "a.txt": "a" },
    plant: (agent, program) => config(agent, "diff.run.textconv", program),
    touch: (agent) => git(agent, "log", "--patch", "-1"),
  },
  {
    name: "merge driver",
    files: { ".gitattributes": "README.md merge=run\n", "README.md": "one" },
    plant: (agent, program) => config(agent, "merge.run.driver", program),
    touch: (agent) => {
      git(agent, "checkout", "--quiet", "-b", "side", "HEAD~1");
      write(agent, "README.md", "two");
      write(agent, ".gitattributes", "README.md merge=run\n");
      git(agent, "add", "--all");
      git(agent, "commit", "--quiet", "--message", "side");
      git(agent, "merge", "work");
    },
  },
  {
    name: "a repository in the work",
    files: {
      "inner/HEAD": "ref: refs/heads/main\n",
      "inner/refs/x": "",
      "inner/objects/x": "",
      "inner/config": "[core]\n\tbare = false\n\tworktree = ..\n\tfsmonitor = $CANARY\n",
    },
    plant: (agent, program) =>
      void write(
        agent,
        "inner/config",
        `[core]\n\tbare = false\n\tworktree = ..\n\tfsmonitor = ${program}\n`,
      ),
    touch: (agent) => git(`${agent}/inner`, "status"),
  },
];
