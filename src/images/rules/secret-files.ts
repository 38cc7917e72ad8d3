import { baseNameOf } from "../../text/tree-path.ts";

const samples = /\.(?:example|sample|template|dist|defaults?)$/;

const secretNames: readonly (readonly [pattern: RegExp, reason: string])[] = [
  [/^\.env/, "an environment file"],
  [/^id_(?:rsa|dsa|ecdsa|ed25519)(?:_sk)?(?:[._-].*)?$/, "a private key, judging by its name"],
  [/\.(?:pem|key|ppk)$/, "a key or certificate, judging by its name"],
  [/\.(?:p12|pfx|jks|keystore|kdbx)$/, "a key store, judging by its name"],
  [/^[._]netrc$/, "logins for hosts"],
  [/^\.pypirc$/, "a login for a package index"],
  [/^\.(?:git-credentials|htpasswd|pgpass|my\.cnf|dockercfg)$/, "a file with logins, judging by its name"],
  [
    /^\.?credentials(?:\.(?:json|ya?ml|toml|ini|xml|csv|txt|properties))?$/,
    "a credentials file, judging by its name",
  ],
  [/^\.?secrets?\.(?:json|ya?ml|toml|ini|env|properties)$/, "a file of secrets, judging by its name"],
  [/^service[-_]?account.*\.json$/, "a service account's key, judging by its name"],
  [/\.tfstate(?:\.backup)?$/, "a Terraform state, which contains secrets in plain text"],
];

const secretPaths: readonly (readonly [pattern: RegExp, reason: string])[] = [
  [/(?:^|\/)\.docker\/config\.json$/, "logins for image registries"],
  [/(?:^|\/)\.kube\/config$/, "a cluster's credentials"],
];

/**
 * Returns why a file probably holds a secret, judged by its path alone; null if the path looks harmless, as
 * that of an example, a template or a public key does.
 */
export function findSecretPathReason(path: string): string | null {
  const name = baseNameOf(path).toLowerCase();
  if (samples.test(name) || name.endsWith(".pub")) return null;
  const [, reason] =
    secretNames.find(([pattern]) => pattern.test(name)) ??
    secretPaths.find(([pattern]) => pattern.test(path)) ??
    [];
  return reason ?? null;
}

/** Matches a line that contains a login, in the configuration file of a package manager. */
const loginLines =
  /^[ \t"']*(?:\/\/[^=\s]*:)?_?(?:_authToken|_auth|_password|authToken|password|npmAuthToken|npmAuthIdent|httpsKey|token)["']?[ \t]*[:=][ \t]*["']?(?<value>[^\s"'#]+)/i;
const loginFiles =
  /^(?:\.npmrc|\.yarnrc|\.yarnrc\.yml|pip\.conf|pip\.ini|bunfig\.toml|uv\.toml|config|config\.toml)$/;
const loginInAddress = /[a-z][a-z0-9+.-]{1,20}:\/\/[^\s/:@"']{0,200}:(?<value>[^\s/:@"']{1,400})@/i;

/**
 * Returns the place of a login or password in a manifest; null if the manifest has none, or only references
 * to variables. Swarm does not copy a manifest with a login or password into an image.
 */
export function findSecretInManifest(path: string, text: string): string | null {
  const hasLogins = loginFiles.test(baseNameOf(path));
  for (const [index, line] of text.split("\n").entries()) {
    if (hasLogins && isLiteral(loginLines.exec(line))) return `line ${index + 1} contains a login`;
    if (line.includes("@") && isLiteral(loginInAddress.exec(line)))
      return `line ${index + 1} contains a URL with a password`;
  }
  return null;
}

function isLiteral(match: RegExpExecArray | null): boolean {
  const value = match?.groups?.["value"];
  return value !== undefined && !/^(?:\$|%\(|%[A-Z])/.test(value);
}
