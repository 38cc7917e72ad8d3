import { randomBytes } from "node:crypto";
import { open, readFile, realpath, rename, stat, unlink } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { SwarmError } from "../domain/errors.ts";
import { parseReference, pathBelow } from "../domain/secret-reference.ts";

/** The login of a subscription, as Claude Code keeps it. */
export interface Login {
  readonly accessToken: string;
  readonly refreshToken: string;
  /** Milliseconds since 1970. */
  readonly expiresAt: number;
}

/** The login in a text like that of `~/.claude/.credentials.json`; null where there is none. */
export function parseLogin(text: string): Login | null {
  const { accessToken, refreshToken, expiresAt } = loginIn(fieldsOf(text)) ?? {};
  if (!isToken(accessToken) || !isToken(refreshToken)) return null;
  if (typeof expiresAt !== "number" || !Number.isFinite(expiresAt)) return null;
  return { accessToken, refreshToken, expiresAt };
}

/**
 * Writes a renewed login back where it came from, or the user's own Claude Code would be logged out: the tokens of the old
 * one are worth nothing any more. False where there is nothing to write back to, or a newer login lies there by now.
 */
export async function writeLogin(
  reference: string,
  renewed: Login,
  { home }: { readonly home: string },
): Promise<boolean> {
  const parsed = parseReference(reference);
  if (parsed.kind !== "file") return false;
  try {
    // Through a link, which stays one.
    const real = await realpath(pathBelow(home, parsed.path));
    const fields = fieldsOf(await readFile(real, "utf8"));
    const login = loginIn(fields);
    if (fields === null || login === null) return false;
    if (typeof login["expiresAt"] === "number" && login["expiresAt"] > renewed.expiresAt) return false;
    const { accessToken, refreshToken, expiresAt } = renewed;
    const content = { ...fields, claudeAiOauth: { ...login, accessToken, refreshToken, expiresAt } };
    await replace(real, JSON.stringify(content));
    return true;
  } catch (error) {
    const { code = "it failed" } = error as NodeJS.ErrnoException;
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

/** It becomes a header. */
function isToken(value: unknown): value is string {
  return typeof value === "string" && /^[\x21-\x7e]{1,16000}$/.test(value);
}

/**
 * All of the old content or all of the new, with the file's owner and mode. write-file-atomic would do, but on a full disk it puts a
 * truncated file in the place of the good one, and this file cannot be made again.
 */
async function replace(file: string, content: string): Promise<void> {
  const { mode, uid, gid } = await stat(file);
  const draft = join(dirname(file), `.${basename(file)}.${randomBytes(9).toString("hex")}.tmp`);
  try {
    {
      await using handle = await open(draft, "wx", 0o600);
      await handle.writeFile(content);
      if (process.getuid?.() === 0) await handle.chown(uid, gid);
      await handle.chmod(mode & 0o7777);
      await handle.sync();
    }
    await rename(draft, file);
  } catch (error) {
    await unlink(draft).catch(() => undefined);
    throw error;
  }
}
