import { invalidValue } from "../../../errors/errors.ts";
import { argumentAt, type Command, type CommandHandler } from "../../flags/command.ts";

/**
 * The words that shell completion offers after each command path. The key `""` is the path of `swarm` itself,
 * `state` that of `swarm state`, and `state update` that of `swarm state update`.
 */
type WordsByPath = ReadonlyMap<string, readonly string[]>;

/**
 * Makes the handler of `swarm completion`. Receives the command definitions as a parameter, because importing
 * them would be a circular import.
 */
export const createCompletionCommand =
  (commands: readonly Command[]): CommandHandler =>
  async ({ output }, args) => {
    const shell = argumentAt(args, 0);
    const write = { bash, zsh, fish }[shell];
    if (!write) throw invalidValue("shell", shell, "bash, zsh or fish");
    const script = write(wordsByPath(commands));
    output.result({ shell, script }, () => [script]);
  };

function wordsByPath(commands: readonly Command[]): WordsByPath {
  const words = new Map<string, string[]>();
  const visit = (path: string, children: readonly Command[]): void => {
    const shown = children.filter(({ hidden }) => !hidden);
    words.set(path, shown.map(nameOf));
    for (const child of shown) {
      const at = path === "" ? nameOf(child) : `${path} ${nameOf(child)}`;
      visit(at, child.commands ?? []);
      words.set(at, [...(words.get(at) ?? []), ...flagsOf(child)]);
    }
  };
  visit("", commands);
  words.set("", [...(words.get("") ?? []), "help", "--help", "--version"]);
  return words;
}

function nameOf({ name }: Command): string {
  return name.split(" ")[0] ?? name;
}

function flagsOf({ options = [], load }: Command): string[] {
  const own = options.filter(([, , how]) => how !== "old").map(([flags]) => flags.split(/[ ,]/)[0] ?? flags);
  return load ? [...own, "--json", "--progress", "--help"] : ["--help"];
}

function bash(words: WordsByPath): string {
  const cases = [...words].map(
    ([path, next]) => `    ${JSON.stringify(path)}) words=${JSON.stringify(next.join(" "))} ;;`,
  );
  return [
    "# swarm completion bash > /etc/bash_completion.d/swarm, or: source <(swarm completion bash)",
    "_swarm() {",
    '  local path="" word words=""',
    '  for word in "' + "${COMP_WORDS[@]:1:COMP_CWORD-1}" + '"; do',
    '    case "$word" in -*) ;; *) path="${path:+$path }$word" ;; esac',
    "  done",
    '  case "$path" in',
    ...cases,
    "  esac",
    '  COMPREPLY=($(compgen -W "$words" -- "${COMP_WORDS[COMP_CWORD]}"))',
    '  [ ${#COMPREPLY[@]} -gt 0 ] || COMPREPLY=($(compgen -f -- "${COMP_WORDS[COMP_CWORD]}"))',
    "}",
    "complete -F _swarm swarm",
  ].join("\n");
}

function zsh(words: WordsByPath): string {
  const cases = [...words].map(([path, next]) => `    ${JSON.stringify(path)}) next=(${next.join(" ")}) ;;`);
  return [
    "#compdef swarm",
    "_swarm() {",
    "  local -a typed next",
    '  typed=("${(@)words[2,CURRENT-1]:#-*}")',
    '  case "${(j: :)typed}" in',
    ...cases,
    "  esac",
    "  compadd -a next; _files",
    "}",
    'if [ "$funcstack[1]" = "_swarm" ]; then _swarm "$@"; else compdef _swarm swarm; fi',
  ].join("\n");
}

function fish(words: WordsByPath): string {
  const lines = [...words].map(([path, next]) => {
    const typed = path === "" ? "swarm" : `swarm ${path}`;
    return `complete -c swarm -n 'test "$(string match -rv "^-" -- (commandline -opc) | string join " ")" = ${JSON.stringify(typed)}' -a ${JSON.stringify(next.join(" "))}`;
  });
  return ["# swarm completion fish > ~/.config/fish/completions/swarm.fish", ...lines].join("\n");
}
