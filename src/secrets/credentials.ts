import { access } from "node:fs/promises";
import { join } from "node:path";
import type { EnvironmentVariables, UserFolders } from "../machine/user-folders.ts";

const variables = [
  "ANTHROPIC_API_KEY",
  "ANTHROPIC_AUTH_TOKEN",
  "CLAUDE_CODE_OAUTH_TOKEN",
  "OPENAI_API_KEY",
  "CODEX_API_KEY",
  "GEMINI_API_KEY",
];

/** Lists the names of the user's credentials that exist on this machine, never their values. */
export async function findCredentialNames(
  env: EnvironmentVariables,
  { home }: UserFolders,
): Promise<string[]> {
  const login = join(".claude", ".credentials.json");
  const hasLogin = await access(join(home, login)).then(
    () => true,
    () => false,
  );
  return [...variables.filter((name) => env[name]), ...(hasLogin ? [`~/${login}`] : [])];
}
