import { readFile, realpath, stat } from "node:fs/promises";
import { SwarmError } from "../errors/errors.ts";
import type { EnvironmentVariables } from "../machine/user-folders.ts";
import { sanitizeText } from "../text/sanitize-text.ts";
import { parseClaudeLogin } from "./claude-login.ts";
import {
  expandHomeFolder,
  isGitCredentialFile,
  isGitCredentialVariable,
  parseSecretReference,
  redactSecretReference,
} from "./rules/secret-reference.ts";
import type { RunSecretProgram } from "./secret-program.ts";

export interface SecretDeps {
  readonly env: EnvironmentVariables;
  readonly home: string;
  readonly run: RunSecretProgram;
  /**
   * Called with a warning about a secret that swarm can nevertheless use, such as a file that other users can
   * read.
   */
  readonly onWarning: (warning: string) => void;
}

const largestFile = 1024 * 1024;
const maxSecretLength = 16_000;

/**
 * Reads the secret that a reference names: an environment variable, a file or a program's output. Throws
 * CREDENTIAL_UNREADABLE unless the secret is a Claude Code login or a single line that fits into an HTTP
 * header.
 */
export async function readSecret(reference: string, deps: SecretDeps): Promise<string> {
  const refuse = (reason: string): never => {
    // Throw without the original error as cause, because that error could contain the secret.
    throw new SwarmError("CREDENTIAL_UNREADABLE", { reference: redactSecretReference(reference), reason });
  };
  const parsed = parseSecretReference(reference);
  switch (parsed.kind) {
    case "env":
      return checked(deps.env[parsed.name] ?? refuse("the environment variable is not set"), deps, refuse);
    case "file":
      return checked((await contentOf(parsed.path, deps, refuse)).replace(/\r?\n$/, ""), deps, refuse);
    case "cmd":
      return checked((await answerOf(parsed, deps, refuse)).trim(), deps, refuse);
    case "refused":
      return refuse(parsed.reason);
  }
}

type Refuse = (reason: string) => never;

async function contentOf(written: string, { home, onWarning }: SecretDeps, refuse: Refuse): Promise<string> {
  const path = expandHomeFolder(home, written);
  const unreadable = ({ code, message }: NodeJS.ErrnoException): never => refuse(code ?? message);
  const real = await realpath(path).catch(unreadable);
  // Check the resolved path: a link or a path with `..` may lead to one of git's credential files under
  // another name.
  if (isGitCredentialFile(real))
    refuse("the file contains git's own credentials, which swarm never passes on to a worker");
  const stats = await stat(real).catch(unreadable);
  // To read a FIFO would block for ever.
  if (!stats.isFile()) refuse("the file is not a regular file");
  if (stats.size > largestFile) refuse("the file is larger than 1 MiB");
  if ((stats.mode & 0o077) !== 0)
    onWarning(
      `${written} contains a secret, and other users have access to the file: \`chmod 600\` removes their access`,
    );
  return readFile(real, "utf8").catch(unreadable);
}

async function answerOf(
  { program, args }: { readonly program: string; readonly args: readonly string[] },
  { env, home, run }: SecretDeps,
  refuse: Refuse,
): Promise<string> {
  const own = Object.fromEntries(Object.entries(env).filter(([name]) => !isGitCredentialVariable(name)));
  // Run in the home folder, not in the repository, where the program would find settings of an untrusted
  // author.
  const { exitCode, output, errors, reason } = await run(program, args, { folder: home, env: own });
  if (exitCode === 0) return output;
  const detail = sanitizeText(withoutWords(errors, output).trim(), 400);
  const ended = exitCode === null ? (reason ?? "the program ended without an exit code") : `exit ${exitCode}`;
  return refuse(detail === "" ? ended : `${ended}: ${detail}`);
}

/**
 * Masks each word of six or more characters in a program's stderr that its stdout also contains, because the
 * word may be part of the secret.
 */
function withoutWords(text: string, secrets: string): string {
  return secrets
    .split(/\s+/)
    .filter((word) => word.length >= 6)
    .reduce((left, word) => left.replaceAll(word, "…"), text);
}

function checked(text: string, { env }: SecretDeps, refuse: Refuse): string {
  if (text.trim() === "") refuse("the credential is empty");
  const gits = Object.entries(env).filter(([name, value]) => isGitCredentialVariable(name) && value);
  if (gits.some(([, value]) => value === text.trim()))
    refuse("the credential is for a git host, and swarm never passes such credentials on to a worker");
  if (parseClaudeLogin(text) !== null) return text;
  if (/[\r\n]/.test(text)) refuse("the credential has several lines, but is not a login of Claude Code");
  if (!/^[\x20-\x7e]+$/.test(text))
    refuse("the credential has characters that an HTTP header cannot contain");
  if (text.length > maxSecretLength) refuse(`the credential is longer than ${maxSecretLength} characters`);
  return text;
}
