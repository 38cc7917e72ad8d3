/**
 * A parsed reference from the settings to a secret. The settings say only where the secret is, and never
 * contain the secret itself.
 */
export type ParsedSecretReference =
  | { readonly kind: "env"; readonly name: string }
  /** A file that holds the secret; the path is absolute, or starts with `~/` for the user's home. */
  | { readonly kind: "file"; readonly path: string }
  /** A program that prints the secret. Swarm starts the program without a shell. */
  | { readonly kind: "cmd"; readonly program: string; readonly args: readonly string[] }
  | { readonly kind: "refused"; readonly reason: string };

/** The valid forms of a reference to a secret, for error messages. */
export const secretReferenceSyntax = "env:NAME, file:/path, file:~/path or cmd:program arguments";

const maxLength = 2_000;

export function parseSecretReference(text: string): ParsedSecretReference {
  const [, kind, rest = ""] = /^(env|file|cmd):(.*)$/s.exec(text) ?? [];
  if (text.length > maxLength || /\p{Cc}/u.test(text))
    return refused(
      `the reference has more than ${maxLength} characters, or contains a control character such as a line break`,
    );
  switch (kind) {
    case "env":
      if (!/^[A-Za-z_][A-Za-z0-9_]*$/.test(rest))
        return refused("the name of an environment variable must follow env:");
      return isGitCredentialVariable(rest) ? refused(gitStays) : { kind, name: rest };
    case "file":
      if (!/^(?:~?\/)./.test(rest)) return refused("a path that begins with / or ~/ must follow file:");
      return isGitCredentialFile(rest) ? refused(gitStays) : { kind, path: rest };
    case "cmd": {
      const [program, ...args] = splitWords(rest) ?? [];
      if (!program)
        return refused("a program and its arguments must follow cmd:, and every quote must be closed");
      const name = program.split("/").at(-1) ?? "";
      return /^(?:git|gh|glab|ssh)(?:-.*)?$/.test(name) ? refused(gitStays) : { kind, program, args };
    }
    default:
      // The text may be the secret itself, so the message does not quote the text.
      return refused("the text is not a reference to a secret");
  }
}

/**
 * Returns a reference to a secret in a form that is safe to show: for a command, only its program; for an
 * invalid reference, `…`.
 */
export function redactSecretReference(text: string): string {
  const reference = parseSecretReference(text);
  switch (reference.kind) {
    case "env":
    case "file":
      return text;
    case "cmd":
      return `cmd:${reference.program}${reference.args.length > 0 ? " …" : ""}`;
    case "refused":
      return "…";
  }
}

/** Replaces `~/` at the start of a path by the user's home folder. */
export function expandHomeFolder(home: string, path: string): string {
  return path.startsWith("~/") ? `${home}${path.slice(1)}` : path;
}

/**
 * Whether the name is that of an environment variable with which the user logs in to git or a git host. No
 * agent needs such a variable, because swarm itself collects the agent's commits.
 */
export function isGitCredentialVariable(name: string): boolean {
  return /^(?:(?:GITHUB|GH|GH_ENTERPRISE|GITHUB_ENTERPRISE|GITLAB|GITEA|BITBUCKET)_(?:TOKEN|PAT)|SSH_.*|GIT_.*)$/.test(
    name,
  );
}

/** Whether the path is that of a file with the user's credentials for git or a git host. */
export function isGitCredentialFile(path: string): boolean {
  const parts = path.split("/");
  const [last = "", before = ""] = parts.toReversed();
  return (
    parts.includes(".ssh") ||
    [".git-credentials", ".netrc", "_netrc"].includes(last) ||
    ["git/credentials", "gh/hosts.yml", "glab-cli/config.yml"].includes(`${before}/${last}`)
  );
}

const gitStays =
  "swarm never passes on credentials for git or git hosts; create a separate token for the agent";

function refused(reason: string): ParsedSecretReference {
  return { kind: "refused", reason };
}

/**
 * Splits a command line into words at spaces outside of quotes; no other character is special. Returns null
 * if a quote is not closed.
 */
function splitWords(line: string): string[] | null {
  const words = line.match(/(?:"[^"]*"|'[^']*'|[^\s"']|["'].*$)+/g) ?? [];
  const plain = words.map((word) => ({ word, without: word.replace(/"[^"]*"|'[^']*'/g, "") }));
  if (plain.some(({ without }) => /["']/.test(without))) return null;
  return plain.map(({ word }) =>
    word.replace(/"([^"]*)"|'([^']*)'/g, (_, double, single) => double ?? single),
  );
}
