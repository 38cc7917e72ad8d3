import { readFile, realpath } from "node:fs/promises";
import { SwarmError } from "../errors/errors.ts";
import { writeFileDurably } from "../machine/durable-write.ts";
import { expandHomeFolder, parseSecretReference } from "./rules/secret-reference.ts";

/** The login of a Claude subscription, as Claude Code stores it. */
export interface ClaudeLogin {
  readonly accessToken: string;
  readonly refreshToken: string;
  /** The time at which the access token expires, in milliseconds since 1970. */
  readonly expiresAt: number;
}

/**
 * Parses the Claude login from a text such as the content of `~/.claude/.credentials.json`. Returns null if
 * the text contains no login.
 */
export function parseClaudeLogin(text: string): ClaudeLogin | null {
  const { accessToken, refreshToken, expiresAt } = loginIn(fieldsOf(text)) ?? {};
  if (!isToken(accessToken) || !isToken(refreshToken)) return null;
  if (typeof expiresAt !== "number" || !Number.isFinite(expiresAt)) return null;
  return { accessToken, refreshToken, expiresAt };
}

/**
 * Writes a renewed Claude login to the file from which swarm read the old login; otherwise, Claude Code would
 * be logged out, because a renewal invalidates the old tokens. Returns false if the file has a newer login,
 * or if it has no login to replace.
 */
export async function writeRenewedLogin(
  reference: string,
  renewed: ClaudeLogin,
  { home }: { readonly home: string },
): Promise<boolean> {
  const parsed = parseSecretReference(reference);
  if (parsed.kind !== "file") return false;
  try {
    // Resolve a link first, so that the link stays and its target is replaced.
    const real = await realpath(expandHomeFolder(home, parsed.path));
    const fields = fieldsOf(await readFile(real, "utf8"));
    const login = loginIn(fields);
    if (fields === null || login === null) return false;
    if (typeof login["expiresAt"] === "number" && login["expiresAt"] > renewed.expiresAt) return false;
    const { accessToken, refreshToken, expiresAt } = renewed;
    const content = { ...fields, claudeAiOauth: { ...login, accessToken, refreshToken, expiresAt } };
    await writeFileDurably(real, JSON.stringify(content), { mode: 0o600, keepAttributes: true });
    return true;
  } catch (error) {
    const { code = "the write failed" } = error as NodeJS.ErrnoException;
    throw new SwarmError("FILE_UNWRITABLE", {
      file: parsed.path,
      reason: code,
    });
  }
}

type Fields = Readonly<Record<string, unknown>>;

function fieldsOf(text: string): Fields | null {
  try {
    const value: unknown = JSON.parse(text);
    return isFields(value) ? value : null;
  } catch {
    return null;
  }
}

function loginIn(fields: Fields | null): Fields | null {
  const login = fields?.["claudeAiOauth"];
  return isFields(login) ? login : null;
}

function isFields(value: unknown): value is Fields {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/**
 * Returns whether a value is valid as a token of a login. Swarm sends the token in an HTTP header, so it must
 * be printable ASCII without spaces.
 */
function isToken(value: unknown): value is string {
  return typeof value === "string" && /^[\x21-\x7e]{1,16000}$/.test(value);
}
