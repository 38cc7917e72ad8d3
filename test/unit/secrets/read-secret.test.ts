import {
  chmodSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { describe, expect } from "vitest";
import type { SwarmError } from "../../../src/errors/errors.ts";
import { parseClaudeLogin, writeRenewedLogin } from "../../../src/secrets/claude-login.ts";
import { readSecret, type SecretDeps } from "../../../src/secrets/read-secret.ts";
import { parseSecretReference, redactSecretReference } from "../../../src/secrets/rules/secret-reference.ts";
import { createSecretProgramRunner } from "../../../src/secrets/secret-program.ts";
import { test } from "../../fakes/folders.ts";

const secret = "sk-SESAME-1234567890";

function depsAt(
  home: string,
  change: Partial<SecretDeps> = {},
): SecretDeps & { readonly warnings: string[] } {
  const warnings: string[] = [];
  const env = { PATH: process.env["PATH"] };
  return {
    env,
    home,
    run: createSecretProgramRunner(),
    onWarning: (warning) => void warnings.push(warning),
    warnings,
    ...change,
  };
}

function keep(home: string, name: string, content: string, mode = 0o600): string {
  const file = join(home, name);
  mkdirSync(join(file, ".."), { recursive: true });
  writeFileSync(file, content);
  chmodSync(file, mode);
  return file;
}

async function refusalOf(reference: string, deps: SecretDeps): Promise<SwarmError> {
  return readSecret(reference, deps).then(
    () => {
      throw new Error("it was read");
    },
    (error: SwarmError) => error,
  );
}

/** All that anybody may ever see of an error. */
function shown(error: SwarmError): string {
  return [error.message, error.hint, error.stack, JSON.stringify(error), String(error.cause)].join("\n");
}

describe("a secret", () => {
  test("is read from a variable, a file without its last line break, and what a program prints", async ({
    folder,
  }) => {
    const file = keep(folder, "below/key", `${secret}\r\n`);
    const deps = depsAt(folder, { env: { PATH: process.env["PATH"], MINE: secret } });

    expect(await readSecret("env:MINE", deps)).toBe(secret);
    expect(await readSecret(`file:${file}`, deps)).toBe(secret);
    expect(await readSecret("file:~/below/key", deps)).toBe(secret);
    expect(await readSecret(`cmd:printf "%s\\n" '${secret}'`, deps)).toBe(secret);
    expect(deps.warnings).toEqual([]);
  });

  test("that is open to others is read, with a warning that names the file alone", async ({ folder }) => {
    keep(folder, "key", secret, 0o644);
    const deps = depsAt(folder);

    expect(await readSecret("file:~/key", deps)).toBe(secret);
    expect(deps.warnings).toEqual([
      "~/key contains a secret, and other users have access to the file: `chmod 600` removes their access",
    ]);
  });

  test("is asked for without a shell, in the user's home, and without what lets one in at git's hosts", async ({
    folder,
  }) => {
    const env = {
      PATH: process.env["PATH"],
      GITHUB_TOKEN: "g",
      SSH_AUTH_SOCK: "s",
      GIT_ASKPASS: "a",
      MINE: "m",
    };
    const deps = depsAt(folder, { env });

    expect(await readSecret("cmd:printf %s $HOME;id>x", deps)).toBe("$HOME;id>x");
    expect(readdirSync(folder)).toEqual([]);
    expect(await readSecret("cmd:pwd", deps)).toMatch(new RegExp(`${folder}$`));
    const variables = await readSecret(`cmd:sh -c "env | cut -d= -f1 | sort | tr '\\n' ' '"`, deps);
    expect(variables).toContain("MINE");
    expect(variables).not.toMatch(/GITHUB_TOKEN|SSH_AUTH_SOCK|GIT_ASKPASS/);
  });

  test.for<[string, string, string]>([
    ["an empty variable", "env:EMPTY", "empty"],
    ["a variable that is not set", "env:NOT_SET", "not set"],
    ["a missing file", "file:~/missing", "ENOENT"],
    ["a folder", "file:~/below", "not a regular file"],
    ["an empty file", "file:~/empty", "empty"],
    ["several lines", "file:~/lines", "several lines"],
    ["a control character", "file:~/control", "an HTTP header cannot contain"],
    ["a letter that no header has", "file:~/letter", "an HTTP header cannot contain"],
    ["a very long line", "file:~/long", "longer than"],
    ["a device", "file:/dev/zero", "not a regular file"],
    ["a program that is not there", "cmd:no-such-program-here", "ENOENT"],
    ["a program that prints nothing", "cmd:true", "empty"],
    ["a program that fails", "cmd:false", "exit 1"],
    ["an open quote", "cmd:printf 'x", "every quote must be closed"],
    ["no reference", secret, "the text is not a reference to a secret"],
  ])("that is %s is refused, and nothing of it is told", async ([, reference, reason], { folder }) => {
    mkdirSync(join(folder, "below"));
    keep(folder, "empty", "\n");
    keep(folder, "lines", `${secret}\n${secret}\n`);
    keep(folder, "control", `${secret}\u0007`);
    keep(folder, "letter", `${secret}é`);
    keep(folder, "long", secret.repeat(2_000));

    const error = await refusalOf(
      reference,
      depsAt(folder, { env: { PATH: process.env["PATH"], EMPTY: "" } }),
    );

    expect(error).toMatchObject({ code: "CREDENTIAL_UNREADABLE", exitCode: 4 });
    expect(error.message).toContain(reason);
    expect(shown(error)).not.toContain("SESAME");
  });

  test("is not in what is told of a program that failed; what it said of the failure is", async ({
    folder,
  }) => {
    const script = keep(folder, "ask", `echo ${secret}; echo "locked, had ${secret}" >&2; exit 3`);

    const error = await refusalOf(`cmd:sh ${script} ${secret}`, depsAt(folder));

    expect(error.message).toContain("exit 3: locked, had …");
    expect(shown(error)).not.toContain("SESAME");
  });

  test("that takes too long is not waited for, whatever its program left behind", async ({ folder }) => {
    const deps = depsAt(folder, { run: createSecretProgramRunner(300) });

    const error = await refusalOf(`cmd:sh -c "echo ${secret}; sleep 3 & sleep 3"`, deps);

    expect(error.message).toContain("the program took longer than 0.3 s");
    expect(shown(error)).not.toContain("SESAME");
  });

  test("is read though its program left something behind that holds its output", async ({ folder }) => {
    const deps = depsAt(folder, { run: createSecretProgramRunner(20_000) });

    expect(await readSecret(`cmd:sh -c "echo ${secret}; sleep 3 &"`, deps)).toBe(secret);
  });

  test("that has no end is not read to it", async ({ folder }) => {
    const error = await refusalOf("cmd:yes", depsAt(folder));

    expect(error.message).toContain("the program wrote more than 1 MiB");
  });

  test("of a subscription may have many lines", async ({ folder }) => {
    const text = JSON.stringify(
      { claudeAiOauth: { accessToken: "a", refreshToken: "r", expiresAt: 1 } },
      null,
      2,
    );
    keep(folder, ".claude/.credentials.json", `${text}\n`);

    expect(await readSecret("file:~/.claude/.credentials.json", depsAt(folder))).toBe(text);
  });
});

describe("what lets one in at git's hosts", () => {
  const gits = ["GITHUB_TOKEN", "GH_TOKEN", "GITLAB_TOKEN", "SSH_AUTH_SOCK", "GIT_ASKPASS", "GIT_PASSWORD"];

  test.for([
    ...gits.map((name) => `env:${name}`),
    ...["file:~/.ssh/id_ed25519", "file:~/.git-credentials", "file:~/.netrc", "file:~/.config/gh/hosts.yml"],
    ...[
      "file:~/.config/git/credentials",
      "file:~/x/../.ssh/id_ed25519",
      "file:~/link",
      "file:~/home/id_ed25519",
    ],
    ...[
      "cmd:gh auth token",
      "cmd:/usr/bin/git credential fill",
      "cmd:ssh-add -L",
      "cmd:git-credential-store get",
    ],
    ...["env:ALIAS", "file:~/copy", "cmd:printenv ALIAS"],
  ])("is never read: %s", async (reference, { folder }) => {
    for (const name of [".ssh/id_ed25519", ".git-credentials", ".netrc", ".config/gh/hosts.yml", "copy"])
      keep(folder, name, secret);
    keep(folder, ".config/git/credentials", secret);
    mkdirSync(join(folder, "x"));
    symlinkSync(join(folder, ".git-credentials"), join(folder, "link"));
    symlinkSync(join(folder, ".ssh"), join(folder, "home"));
    const env = {
      PATH: process.env["PATH"],
      ...Object.fromEntries(gits.map((name) => [name, secret])),
      ALIAS: secret,
    };

    const error = await refusalOf(reference, depsAt(folder, { env }));

    expect(error.code).toBe("CREDENTIAL_UNREADABLE");
    expect(shown(error)).not.toContain("SESAME");
  });

  test("and what is called alike is read: the control", async ({ folder }) => {
    keep(folder, "ssh/key", secret);
    const deps = depsAt(folder, {
      env: { PATH: process.env["PATH"], MY_GITHUB_TOKEN: secret, DIGIT_KEY: secret },
    });

    for (const reference of [
      "env:MY_GITHUB_TOKEN",
      "env:DIGIT_KEY",
      "file:~/ssh/key",
      `cmd:printf ${secret}`,
    ])
      expect(await readSecret(reference, deps)).toBe(secret);
  });
});

describe("a reference", () => {
  test.for<[string, object]>([
    ["cmd:pass show a/b", { program: "pass", args: ["show", "a/b"] }],
    [
      `cmd:"my program" 'it is' "it's" a"b c"d ""`,
      { program: "my program", args: ["it is", "it's", "ab cd", ""] },
    ],
    ["cmd: \t op  read x", { kind: "refused" }],
    ["cmd:  op  read x ", { program: "op", args: ["read", "x"] }],
    ["cmd:", { kind: "refused" }],
    ["cmd:''", { kind: "refused" }],
    ["env:", { kind: "refused" }],
    ["env:A B", { kind: "refused" }],
    ["file:key", { kind: "refused" }],
    ["file:../key", { kind: "refused" }],
    ["FILE:/key", { kind: "refused" }],
    [`env:A\ncmd:x`, { kind: "refused" }],
    [`env:${"A".repeat(3_000)}`, { kind: "refused" }],
  ])("%j is read as it was meant", ([text, expected]) => {
    expect(parseSecretReference(text)).toMatchObject(expected);
  });

  test("is shown without the words of a program, and not at all where it is none", () => {
    const texts = ["env:A", "file:~/a", `cmd:curl ${secret}`, "cmd:pass", secret, `env:${secret}`];

    expect(texts.map(redactSecretReference)).toEqual([
      "env:A",
      "file:~/a",
      "cmd:curl …",
      "cmd:pass",
      "…",
      "…",
    ]);
  });
});

describe("the login of a subscription", () => {
  const login = { accessToken: "sk-ant-oat01-a", refreshToken: "sk-ant-ort01-r", expiresAt: 1_000 };
  const file = {
    claudeAiOauth: { ...login, scopes: ["user:inference"], subscriptionType: "max" },
    mcpOAuth: { a: 1 },
  };
  const renewed = { accessToken: "sk-ant-oat01-b", refreshToken: "sk-ant-ort01-s", expiresAt: 2_000 };

  test("is known by its fields", () => {
    expect(parseClaudeLogin(JSON.stringify(file))).toEqual(login);
  });

  test.for([
    "",
    secret,
    "null",
    "[]",
    '{"claudeAiOauth":null}',
    '{"claudeAiOauth":[]}',
    '{"claudeAiOauth":{"accessToken":"a","refreshToken":"r"}}',
    '{"claudeAiOauth":{"accessToken":"a","refreshToken":"r","expiresAt":"1"}}',
    '{"claudeAiOauth":{"accessToken":"","refreshToken":"r","expiresAt":1}}',
    '{"claudeAiOauth":{"accessToken":"a\\r\\nx: y","refreshToken":"r","expiresAt":1}}',
    '{"accessToken":"a","refreshToken":"r","expiresAt":1}',
  ])("is not in %s", (text) => {
    expect(parseClaudeLogin(text)).toBeNull();
  });

  test("that was renewed goes back where it came from, and all else in that file stays", async ({
    folder,
  }) => {
    const path = keep(folder, ".claude/.credentials.json", JSON.stringify(file), 0o640);

    const written = await writeRenewedLogin("file:~/.claude/.credentials.json", renewed, { home: folder });

    expect(written).toBe(true);
    expect(JSON.parse(readFileSync(path, "utf8"))).toEqual({
      ...{ mcpOAuth: { a: 1 } },
      claudeAiOauth: { ...renewed, scopes: ["user:inference"], subscriptionType: "max" },
    });
    expect(statSync(path).mode & 0o777).toBe(0o640);
    expect(readdirSync(join(folder, ".claude"))).toEqual([".credentials.json"]);
  });

  test("goes through a link, and leaves it one", async ({ folder }) => {
    const path = keep(folder, "elsewhere/login", JSON.stringify(file));
    symlinkSync(path, join(folder, "login"));

    expect(await writeRenewedLogin("file:~/login", renewed, { home: folder })).toBe(true);
    expect(parseClaudeLogin(readFileSync(path, "utf8"))).toEqual(renewed);
    expect(readdirSync(folder).sort()).toEqual(["elsewhere", "login"]);
  });

  test("is not written over a newer one, nor into what is no login, nor anywhere but a file", async ({
    folder,
  }) => {
    const newer = JSON.stringify({ claudeAiOauth: { ...login, expiresAt: 3_000 } });
    const path = keep(folder, "login", newer);
    const key = keep(folder, "key", secret);
    const home = { home: folder };

    expect(await writeRenewedLogin("file:~/login", renewed, home)).toBe(false);
    expect(await writeRenewedLogin("file:~/key", renewed, home)).toBe(false);
    expect(await writeRenewedLogin("env:LOGIN", renewed, home)).toBe(false);
    expect(await writeRenewedLogin("cmd:pass show login", renewed, home)).toBe(false);
    expect([readFileSync(path, "utf8"), readFileSync(key, "utf8")]).toEqual([newer, secret]);
  });

  test("that cannot be written back says so without a token", async ({ folder }) => {
    const error = await writeRenewedLogin("file:~/gone", renewed, { home: folder }).catch(
      (thrown: SwarmError) => thrown,
    );

    expect(error).toMatchObject({ code: "FILE_UNWRITABLE", details: { file: "~/gone", reason: "ENOENT" } });
    expect(shown(error as SwarmError)).not.toContain("sk-ant");
  });
});
