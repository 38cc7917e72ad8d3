import { readFile, realpath, stat } from "node:fs/promises";
import { cleanText } from "../domain/clean-text.ts";
import { SwarmError } from "../domain/errors.ts";
import {
  isGitFile,
  isGitVariable,
  parseReference,
  pathBelow,
  showReference,
} from "../domain/secret-reference.ts";
import { parseLogin } from "./login-file.ts";
import type { RunSecretProgram } from "./secret-program.ts";
import type { Environment } from "./user-folders.ts";

export interface SecretDeps {
  readonly env: Environment;
  readonly home: string;
  readonly run: RunSecretProgram;
  /** Told what is worth mending and stops nothing. */
  readonly onWarning: (warning: string) => void;
}

const largestFile = 1024 * 1024;
const longestSecret = 16_000;

/** What a reference leads to: one line as it may stand in a header, or the login of a subscription. CREDENTIAL_UNREADABLE otherwise. */
export async function readSecret(reference: string, deps: SecretDeps): Promise<string> {
  const refuse = (reason: string): never => {
    // Never with a cause: what could not be used may be shown nowhere.
    throw new SwarmError("CREDENTIAL_UNREADABLE", { reference: showReference(reference), reason });
  };
  const parsed = parseReference(reference);
  switch (parsed.kind) {
    case "env":
      return checked(deps.env[parsed.name] ?? refuse("this variable is not set"), deps, refuse);
    case "file":
      return checked(withoutLineBreak(await contentOf(parsed.path, deps, refuse)), deps, refuse);
    case "cmd":
      return checked((await answerOf(parsed, deps, refuse)).trim(), deps, refuse);
    case "refused":
      return refuse(parsed.reason);
  }
}

type Refuse = (reason: string) => never;

async function contentOf(written: string, { home, onWarning }: SecretDeps, refuse: Refuse): Promise<string> {
  const path = pathBelow(home, written);
  const unreadable = ({ code, message }: NodeJS.ErrnoException): never => refuse(code ?? message);
  const real = await realpath(path).catch(unreadable);
  // A link, or a path that walks up and down again, may lead to what the reference itself does not name.
  if (isGitFile(real)) refuse("it is where git keeps its own, which is never handed on");
  const stats = await stat(real).catch(unreadable);
  // Reading a pipe would wait for ever.
  if (!stats.isFile()) refuse("it is not a regular file");
  if (stats.size > largestFile) refuse("it is larger than 1 MiB");
  if ((stats.mode & 0o077) !== 0)
    onWarning(`${written} holds a secret and is open to others: \`chmod 600\` closes it`);
  return readFile(real, "utf8").catch(unreadable);
}

async function answerOf(
  { program, args }: { readonly program: string; readonly args: readonly string[] },
  { env, home, run }: SecretDeps,
  refuse: Refuse,
): Promise<string> {
  const own = Object.fromEntries(Object.entries(env).filter(([name]) => !isGitVariable(name)));
  // Not in the repository: programs look there for settings, and anybody may have written those.
  const { exitCode, output, errors, reason } = await run(program, args, { folder: home, env: own });
  if (exitCode === 0) return output;
  const said = cleanText(withoutWords(errors, output).trim(), 400);
  const ended = exitCode === null ? (reason ?? "it was ended") : `exit ${exitCode}`;
  return refuse(said === "" ? ended : `${ended}: ${said}`);
}

/** What a program says of its failure, without what it had already answered. */
function withoutWords(text: string, secrets: string): string {
  return secrets
    .split(/\s+/)
    .filter((word) => word.length >= 6)
    .reduce((left, word) => left.replaceAll(word, "…"), text);
}

function withoutLineBreak(text: string): string {
  return text.replace(/\r?\n$/, "");
}

function checked(text: string, { env }: SecretDeps, refuse: Refuse): string {
  if (text.trim() === "") refuse("it is empty");
  const gits = Object.entries(env).filter(([name, value]) => isGitVariable(name) && value);
  if (gits.some(([, value]) => value === text.trim()))
    refuse("it is what lets one in at git's hosts, which is never handed on");
  if (parseLogin(text) !== null) return text;
  if (/[\r\n]/.test(text)) refuse("it has several lines, and is no login");
  if (!/^[\x20-\x7e]+$/.test(text)) refuse("it has characters that no header may have");
  if (text.length > longestSecret) refuse(`it is longer than ${longestSecret} characters`);
  return text;
}
