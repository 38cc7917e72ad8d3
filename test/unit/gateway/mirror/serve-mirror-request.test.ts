import { once } from "node:events";
import {
  request as ask,
  createServer,
  type IncomingHttpHeaders,
  type IncomingMessage,
  type RequestListener,
  type Server,
} from "node:http";
import { connect } from "node:net";
import { Readable } from "node:stream";
import { gunzipSync, gzipSync } from "node:zlib";
import fc from "fast-check";
import { afterEach, describe, expect, test } from "vitest";
import type { HostTraffic } from "../../../../gateway/http/access-reports.ts";
import { replaceBytes } from "../../../../gateway/http/replace-bytes.ts";
import { checkMirrorRequest } from "../../../../gateway/mirror/mirror-rules.ts";
import { serveMirrorRequest } from "../../../../gateway/mirror/serve-mirror-request.ts";
import {
  type SendUpstreamRequest,
  sendUpstreamRequest,
  type UpstreamRequest,
} from "../../../../gateway/mirror/upstream-request.ts";
import type { RefusalReason } from "../../../../src/contract/gateway.ts";

const npm = { name: "npm", url: "https://registry.npmjs.org", headers: {} };

const undo: (() => void)[] = [];
afterEach(() => {
  for (const step of undo.splice(0)) step();
});

interface Seen {
  readonly method: string;
  readonly url: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

interface World {
  readonly seen: Seen[];
  readonly refused: [what: string, why: RefusalReason][];
  readonly reached: HostTraffic[];
  readonly registry: string;
  readonly base: string;
  readonly doorPort: number;
  readonly served: Promise<void>[];
  readonly revoke: () => void;
  readonly ask: (path: string, how?: Asked) => Promise<Answer>;
}

interface Asked {
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: Buffer | string;
}

interface Answer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

interface Settings {
  readonly name?: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** Where the registry begins at its host. */
  readonly prefix?: string;
  readonly upstream?: RequestListener;
  readonly put?: SendUpstreamRequest;
  /** Where it says it is. */
  readonly url?: string;
}

/** A door, and a registry behind it on this machine. */
async function world({
  name = "npm",
  headers = { authorization: "Bearer REAL" },
  prefix = "",
  upstream = (_request, response) => void response.end("content"),
  put = sendUpstreamRequest,
  url,
}: Settings = {}): Promise<World> {
  const seen: Seen[] = [];
  const refused: World["refused"] = [];
  const reached: HostTraffic[] = [];
  const served: Promise<void>[] = [];
  const controller = new AbortController();
  const registryServer = createServer((request, response) => {
    const answer = (body: string): void => {
      seen.push({ method: request.method ?? "", url: request.url ?? "", headers: request.headers, body });
      upstream(request, response);
    };
    text(request).then(answer, () => {});
  });
  const registry = `http://127.0.0.1:${await listening(registryServer)}${prefix}`;
  const door = createServer((request, response) => {
    const mirror = { name, url: url ?? registry, headers };
    const rest = (request.url ?? "").slice("/r/TOKEN/mirror".length);
    const deps = {
      refuse: (what: string, why: RefusalReason) => void refused.push([what, why]),
      onEnded: (facts: HostTraffic) => void reached.push(facts),
      ask: put,
      signal: controller.signal,
    };
    served.push(serveMirrorRequest(request, response, { mirror, rest, base }, deps));
  });
  const doorPort = await listening(door);
  const base = `http://127.0.0.1:${doorPort}/r/TOKEN/mirror`;
  undo.push(() => {
    for (const server of [door, registryServer]) {
      server.closeAllConnections();
      server.close();
    }
  });
  const asking = (path: string, how: Asked = {}): Promise<Answer> =>
    askRaw(doorPort, `/r/TOKEN/mirror${path}`, how);
  return {
    seen,
    refused,
    reached,
    registry,
    base,
    doorPort,
    served,
    revoke: () => controller.abort(),
    ask: asking,
  };
}

async function listening(server: Server): Promise<number> {
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  return typeof address === "object" && address ? address.port : 0;
}

/** Sends a path as it is written. */
async function askRaw(port: number, path: string, { method = "GET", headers, body }: Asked): Promise<Answer> {
  const asking = ask({ host: "127.0.0.1", port, path, method, headers, agent: false });
  asking.on("error", () => {});
  asking.end(body);
  const [answer] = (await once(asking, "response")) as [IncomingMessage];
  return { status: answer.statusCode ?? 0, headers: answer.headers, body: await text(answer) };
}

async function text(stream: Readable): Promise<string> {
  const pieces: Buffer[] = [];
  for await (const piece of stream) pieces.push(piece);
  return Buffer.concat(pieces).toString("latin1");
}

function answers(
  status: number,
  headers: Readonly<Record<string, string>>,
  body: string | Buffer = "",
): RequestListener {
  return (_request, response) => void response.writeHead(status, headers).end(body);
}

describe("a registry behind the gateway", () => {
  test("is read, and what was read is told once", async () => {
    const at = await world({
      upstream: answers(
        200,
        {
          "content-type": "application/octet-stream",
          etag: '"x"',
          "cache-control": "max-age=3",
          "content-length": "11",
          "set-cookie": "a=b",
        },
        "the package",
      ),
    });

    const answer = await at.ask("/is-odd/-/is-odd-3.0.1.tgz");

    expect(answer).toMatchObject({ status: 200, body: "the package" });
    expect(answer.headers).toMatchObject({
      etag: '"x"',
      "cache-control": "max-age=3",
      "content-length": "11",
    });
    await Promise.all(at.served);
    expect(at.reached).toEqual([
      {
        ...{ host: "127.0.0.1", port: Number(new URL(at.registry).port), path: "/is-odd/-/is-odd-3.0.1.tgz" },
        ...{ status: 200, bytesIn: 0, bytesOut: 11, ms: expect.any(Number) },
      },
    ]);
    expect(at.refused).toEqual([]);
  });

  test("gets its own credential and a few headers of the client's, and no other", async () => {
    const at = await world({ headers: { Authorization: "Bearer REAL" } });
    await at.ask("/is-odd", {
      headers: {
        ...{
          accept: "application/json",
          "user-agent": "npm/11",
          "if-none-match": '"x"',
          "accept-encoding": "gzip",
        },
        ...{
          authorization: "Bearer TOKEN",
          cookie: "a=b",
          "x-api-key": "k",
          "npm-session": "s",
          referer: "r",
        },
        ...{
          "x-forwarded-for": "1.2.3.4",
          "proxy-authorization": "Basic x",
          "disable-module-fetch": "false",
        },
        host: "evil.example",
      },
    });

    expect(at.seen[0]?.headers).toEqual({
      ...{
        accept: "application/json",
        "user-agent": "npm/11",
        "if-none-match": '"x"',
        "accept-encoding": "identity",
      },
      ...{ authorization: "Bearer REAL", host: new URL(at.registry).host, connection: "keep-alive" },
    });
  });

  test("says nothing to the sandbox but what a package manager needs", async () => {
    const at = await world({
      upstream: answers(401, {
        ...{
          "set-cookie": "session=1",
          "www-authenticate": "Basic",
          location: "/login",
          "x-echo": "Bearer REAL",
        },
        ...{ "content-type": "text/plain", server: "nginx", "retry-after": "9" },
      }),
    });

    const { status, headers } = await at.ask("/is-odd");

    expect(status).toBe(401);
    const own = ["connection", "date", "keep-alive", "transfer-encoding"];
    expect(
      Object.keys(headers)
        .filter((name) => !own.includes(name))
        .sort(),
    ).toEqual(["content-type", "retry-after"]);
  });

  test("sends a part of a file, compressed as the client takes it", async () => {
    const body = gzipSync("a module");
    const at = await world({
      ...{ name: "files", headers: {} },
      upstream: answers(206, { "content-range": "bytes 0-9/99", "content-encoding": "gzip" }, body),
    });

    const answer = await at.ask("/a.zip", { headers: { range: "bytes=0-9", "accept-encoding": "gzip" } });

    expect(at.seen[0]?.headers).toMatchObject({ range: "bytes=0-9", "accept-encoding": "gzip" });
    expect(answer).toMatchObject({ status: 206, headers: { "content-range": "bytes 0-9/99" } });
    expect(gunzipSync(Buffer.from(answer.body, "latin1")).toString()).toBe("a module");
  });

  test.each([
    ["application/json", "npm", "/root/registry"],
    ["application/json; charset=utf-8", "npm-acme", ""],
    ["application/vnd.npm.install-v1+json", "npm", "/root/registry"],
  ])("names its files by the gateway's address in %s", async (type, name, prefix) => {
    const metadata = (address: string): string =>
      JSON.stringify({
        dist: Array.from({ length: 3_000 }, (_, n) => ({ tarball: `${address}/a/-/a-${n}.tgz` })),
      });
    const at = await world({
      ...{ name, prefix },
      upstream: (_request, response) => {
        response.writeHead(200, { "content-type": type, "content-length": metadata(at.registry).length });
        response.end(metadata(at.registry));
      },
    });

    const { body, headers } = await at.ask("/a");

    expect(body).toBe(metadata(at.base));
    expect(headers["content-length"]).toBeUndefined();
    expect(at.seen[0]?.url).toBe(`${prefix}/a`);
  });

  test.each([
    ["npm, which puts in its own", "npm/11.19.1 node/v24.21.0 linux x64 workspaces/false", false],
    ["an npm too old to", "npm/6.14.18 node/v14.0.0 linux x64", true],
    ["yarn", "yarn/1.22.22 npm/? node/v24.21.0 linux x64", true],
    ["pnpm", "pnpm/10.34.9 npm/? node/v24.21.0 linux x64", true],
  ])(
    "names the files of npm's own registry by the gateway's address only where it must: to %s",
    async (_what, agent, isRewritten) => {
      const metadata = (address: string): string => JSON.stringify({ tarball: `${address}/a.tgz` });
      const at = await world({
        url: npm.url,
        put: async () => ({
          status: 200,
          headers: { "content-type": "application/json" },
          body: Readable.from([Buffer.from(metadata(npm.url))]),
        }),
      });

      const { body } = await at.ask("/a", { headers: { "user-agent": agent } });

      expect(body).toBe(metadata(isRewritten ? at.base : npm.url));
    },
  );

  test("tells nobody what lets one in, even where it is asked to tell what it was asked with", async () => {
    const secret = "s3cret-0123456789";
    const at = await world({
      ...{ name: "files", headers: { authorization: `Bearer ${secret}` } },
      upstream: (asked, response) => {
        const said = JSON.stringify(asked.headers);
        response.writeHead(200, { etag: secret, "content-length": said.length });
        // In pieces: a secret may end in another one than it began in.
        for (const letter of said) response.write(letter);
        response.end();
      },
    });

    const { headers, body } = await at.ask("/a", {
      headers: { range: "bytes=0-9", "accept-encoding": "gzip" },
    });

    expect(at.seen[0]?.headers).toMatchObject({
      ...{ authorization: `Bearer ${secret}`, "accept-encoding": "identity" },
    });
    expect(at.seen[0]?.headers).not.toHaveProperty("range");
    expect(headers.etag).toBe("*".repeat(secret.length));
    expect(JSON.parse(body)).toMatchObject({ authorization: "*".repeat(`Bearer ${secret}`.length) });
  });

  test("keeps a package with a scope together", async () => {
    const at = await world();

    expect(await at.ask("/@types%2fnode")).toMatchObject({ status: 200 });
    expect(await at.ask("/@types%2Fnode/24.0.0")).toMatchObject({ status: 200 });
    expect(at.seen.map(({ url }) => url)).toEqual(["/@types%2fnode", "/@types%2Fnode/24.0.0"]);
  });

  test("answers 304 and HEAD without a body", async () => {
    const at = await world({ upstream: answers(304, { etag: '"x"' }) });

    expect(await at.ask("/a", { headers: { "if-none-match": '"x"' } })).toMatchObject({
      status: 304,
      body: "",
    });
    expect(await at.ask("/a", { method: "HEAD" })).toMatchObject({ status: 304, body: "" });
    expect(at.seen.map(({ method }) => method)).toEqual(["GET", "HEAD"]);
  });

  test("that breaks off looks broken off to the client", async () => {
    const at = await world({
      upstream: (_request, response) => {
        response.writeHead(200, { "content-length": 100 });
        response.write("half", () => response.destroy());
      },
    });

    await expect(at.ask("/a/-/a-1.tgz")).rejects.toThrow("aborted");
  });

  test("that does not answer is 502", async () => {
    const at = await world({ upstream: (_request, response) => void response.destroy() });

    expect(await at.ask("/a")).toMatchObject({
      status: 502,
      body: '{"error":"swarm: npm cannot be reached"}',
    });
    expect(at.refused).toEqual([["GET /r/*/npm/a", "unreachable"]]);
  });

  test.each([
    ["the client left", "before it answered"],
    ["the client left", "while it answered"],
    ["the worker was revoked", "before it answered"],
    ["the worker was revoked", "while it answered"],
  ])("is no longer asked when %s %s", async (what, when) => {
    const arrived = Promise.withResolvers<{ closed: Promise<unknown> }>();
    const at = await world({
      upstream: (_request, response) => {
        if (when === "while it answered") response.write("half");
        arrived.resolve({ closed: once(response, "close") });
      },
    });
    const client = connect(at.doorPort, "127.0.0.1");
    client.on("error", () => {});
    client.write("GET /r/TOKEN/mirror/a HTTP/1.1\r\nHost: x\r\n\r\n");
    const { closed } = await arrived.promise;
    if (what === "the client left") client.destroy();
    else at.revoke();

    await closed;
    await Promise.all(at.served);
    expect(at.refused).toEqual([]);
    client.destroy();
  });
});

const misleading = [
  "/../secret",
  "/a/../../secret",
  "/a/..",
  "/./a",
  "/a/.",
  "/%2e%2e/secret",
  "/%2E%2E/secret",
  "/.%2e/secret",
  "/a%2f..%2fsecret",
  "/a%2fb",
  "/@a%2fb%2fc",
  "/@a%2f../secret",
  "/@a%2f..",
  "/@%2fb",
  "/x/@a%2fb",
  "/a%5cb",
  "/a\\..\\secret",
  "/%252e%252e/secret",
  "/a%00b",
  "/a%0d%0ax-injected:1",
  "/a%7fb",
  "/a%zz",
  "/a%",
  "/a%c0%ae%c0%ae/secret",
  "/a%e2%80%ae",
  "//evil.example/a",
  "/a//b",
  "/..;/secret",
  "/a;x=1/b",
  "/a%3b/b",
  "/a#b",
  "/a?b#c",
  "/a?b\\c",
  '/a"b',
  "/a<b>",
  "/a{b}",
  `/${"a".repeat(2_000)}`,
  "@evil.example/a",
  ":80/a",
  ".evil.example/a",
  "",
];

describe("a path", () => {
  test.each(misleading)("written %j is refused before anybody is asked", async (path) => {
    const at = await world();

    expect((await at.ask(path)).status).toBe(400);
    expect(at.seen).toEqual([]);
    expect(at.refused).toEqual([[expect.stringContaining("GET /r/*/npm"), "path"]]);
  });

  test.each(["/a b", "/a\r\nx: y", "/a\nb", "/a\0", "/\u00e9", "/\u2025/x", "/a\tb"])(
    "written %j is refused where no parser stands before it",
    (rest) => {
      expect(checkMirrorRequest(npm, { method: "GET", rest, headers: {} })).toMatchObject({
        why: "path",
        status: 400,
      });
    },
  );

  test("without the check leads out of the registry's part of its host", async () => {
    const at = await world({ prefix: "/npm" });
    const naive = (rest: string): Promise<Response> => fetch(`${at.registry}${rest}`);

    await naive("/../secret");
    await naive("/%2e%2e/secret");
    expect(at.seen.map(({ url }) => url)).toEqual(["/secret", "/secret"]);
  });

  test("that is taken is asked for as it was written, at the registry and nowhere else", async () => {
    const asked: UpstreamRequest[] = [];
    const at = await world({
      prefix: "/npm",
      put: (question) => {
        asked.push(question);
        return Promise.resolve({ status: 200, headers: {}, body: Readable.from([]) });
      },
    });
    await fc.assert(
      fc.asyncProperty(fc.stringMatching(/^[/.%@;:?#a2efEF5cC~!-]{0,12}$/), async (rest) => {
        asked.length = 0;
        await at.ask(rest);
        for (const { url } of asked) expect(url.href).toBe(`${at.registry}${rest}`);
      }),
      { numRuns: 300 },
    );
  });
});

describe("a registry that is only read", () => {
  test.each(["POST", "PUT", "PATCH", "DELETE", "OPTIONS", "PROPFIND"])("takes no %s", async (method) => {
    const at = await world();

    const { status, body } = await at.ask("/-/package", {
      method,
      headers: { "content-length": "6" },
      body: "stolen",
    });

    expect(status).toBe(405);
    expect(body).toContain('{"error":"swarm: ');
    expect(at.seen).toEqual([]);
    expect(at.refused).toEqual([[`${method} /r/*/npm/-/package`, "method"]]);
  });

  test.each([
    ["with a length", { "content-length": "6" }],
    ["in pieces", { "transfer-encoding": "chunked" }],
  ])("takes no body with a GET, %s", async (_what, headers) => {
    const at = await world({ name: "files" });

    expect((await at.ask("/a", { headers, body: "stolen" })).status).toBe(400);
    expect(at.seen).toEqual([]);
    expect(at.refused).toEqual([["GET /r/*/files/a", "form"]]);
  });
});

describe("a registry that points elsewhere", () => {
  const moved = (location: string): RequestListener => answers(302, { location });

  test("is followed at its own host with its credential", async () => {
    const at = await world({
      upstream: (request, response) => {
        if (request.url === "/a") response.writeHead(301, { location: "/b?c=1" }).end();
        else response.end("found");
      },
    });

    expect(await at.ask("/a")).toMatchObject({ status: 200, body: "found" });
    expect(at.seen.map(({ url, headers }) => [url, headers.authorization])).toEqual([
      ["/a", "Bearer REAL"],
      ["/b?c=1", "Bearer REAL"],
    ]);
  });

  test("is followed to another host without its credential, which does not come back either", async () => {
    const asked: UpstreamRequest[] = [];
    const at = await world({
      put: (question) => {
        asked.push(question);
        const { host, pathname } = question.url;
        const next = host === "other.example" ? `${at.registry}/back` : "https://other.example/b";
        const status = pathname === "/back" ? 200 : 302;
        return Promise.resolve({ status, headers: { location: next }, body: Readable.from([]) });
      },
    });

    expect(await at.ask("/a")).toMatchObject({ status: 200 });
    expect(
      asked.map(({ url, headers, mustBePublic }) => [url.pathname, headers["authorization"], mustBePublic]),
    ).toEqual([
      ["/a", "Bearer REAL", false],
      ["/b", undefined, true],
      ["/back", undefined, false],
    ]);
  });

  test.each<readonly [string, string, RefusalReason]>([
    ["something without TLS", "http://other.example/a", "not-allowed"],
    ["a file", "file:///etc/passwd", "not-allowed"],
    ["nothing that is an address", "https://", "not-allowed"],
    ["this machine", "https://127.0.0.1/a", "not-public"],
    ["this machine in decimal", "https://2130706433/a", "not-public"],
    ["this machine in hexadecimal", "https://0x7f.1/a", "not-public"],
    ["this machine by its name", "https://localhost/a", "not-public"],
    ["this machine in IPv6", "https://[::1]/a", "not-public"],
    ["an address within another", "https://[::ffff:169.254.169.254]/a", "not-public"],
    ["the metadata of a cloud", "https://169.254.169.254/latest", "not-public"],
    ["a user at an address", "https://registry@127.0.0.1/a", "not-public"],
    ["an address on the internet", "https://93.184.215.14/a", "not-public"],
  ])("to %s is not followed", async (_what, location, why) => {
    const at = await world({ upstream: moved(location) });

    expect((await at.ask("/a")).status).toBe(502);
    expect(at.seen).toHaveLength(1);
    expect(at.refused).toEqual([["GET /r/*/npm/a", why]]);
    expect(at.reached).toEqual([]);
  });

  test("is followed to this machine by who does not look", async () => {
    const inside = await world();
    const at = await world({
      upstream: moved(`${inside.registry.replace("127.0.0.1", "localhost")}/secret`),
    });
    const secure = await world({
      upstream: moved(`https://localhost:${new URL(inside.registry).port}/secret`),
    });

    expect(await (await fetch(`${at.registry}/a`)).text()).toBe("content");
    expect(inside.seen).toHaveLength(1);
    expect((await secure.ask("/a")).status).toBe(502);
    expect(secure.refused).toEqual([["GET /r/*/npm/a", "not-public"]]);
    expect(inside.seen).toHaveLength(1);
  });

  test("on and on is left after three", async () => {
    const at = await world({ upstream: moved("/a") });

    expect((await at.ask("/a")).status).toBe(502);
    expect(at.seen).toHaveLength(4);
  });
});

describe("GitHub behind the gateway", () => {
  const refs = "/acme/tool/info/refs?service=git-upload-pack";

  test("is asked what clone and fetch ask, with the protocol's version and a compressed body", async () => {
    const at = await world({ name: "github" });
    const body = gzipSync("want");

    expect(await at.ask(refs, { headers: { "git-protocol": "version=2" } })).toMatchObject({ status: 200 });
    for (const path of ["/acme/tool/git-upload-pack", "/acme/tool.git/git-upload-pack"])
      await at.ask(path, {
        method: "POST",
        headers: {
          ...{ "content-type": "application/x-git-upload-pack-request", "content-encoding": "gzip" },
          ...{ "git-protocol": "version=2", cookie: "a=b" },
        },
        body,
      });

    expect(at.seen.map(({ method, url }) => `${method} ${url}`)).toEqual([
      `GET ${refs}`,
      "POST /acme/tool/git-upload-pack",
      "POST /acme/tool.git/git-upload-pack",
    ]);
    expect(at.seen[1]?.headers).toMatchObject({
      ...{ "git-protocol": "version=2", "content-encoding": "gzip", authorization: "Bearer REAL" },
      "content-type": "application/x-git-upload-pack-request",
    });
    expect(at.seen[1]?.headers.cookie).toBeUndefined();
    expect(at.seen[1]?.body).toBe(body.toString("latin1"));
    await Promise.all(at.served);
    expect(at.reached[1]).toMatchObject({ bytesIn: body.length });
  });

  test.each([
    ["push's first question", "GET", "/acme/tool/info/refs?service=git-receive-pack"],
    ["push", "POST", "/acme/tool/git-receive-pack"],
    [
      "push and clone at once",
      "GET",
      "/acme/tool/info/refs?service=git-upload-pack&service=git-receive-pack",
    ],
    ["a question in another order", "GET", "/acme/tool/info/refs?service=git-receive-pack&x=git-upload-pack"],
    ["a question without a service", "GET", "/acme/tool/info/refs"],
    ["a page", "GET", "/acme/tool"],
    ["the upload of large files", "POST", "/acme/tool.git/info/lfs/objects/batch"],
    ["a form", "POST", "/login"],
    ["an issue", "POST", "/acme/tool/issues"],
    ["a clone by another method", "PUT", "/acme/tool/git-upload-pack"],
    ["a clone's body in the first question", "POST", refs],
    ["a clone without a repository", "GET", "/acme/info/refs?service=git-upload-pack"],
    ["a clone from deeper down", "GET", "/acme/tool/x/info/refs?service=git-upload-pack"],
    ["a clone with more in the address", "POST", "/acme/tool/git-upload-pack?x=1"],
  ])("does not get %s", async (_what, method, path) => {
    const at = await world({ name: "github" });

    const { status, headers } = await at.ask(path, { method });

    expect([403, 405]).toContain(status);
    expect(headers["content-type"]).toContain("text/plain");
    expect(at.seen).toEqual([]);
    expect(at.refused).toHaveLength(1);
  });

  test("gets no more of a body than a fetch can need", async () => {
    const at = await world({ name: "github" });
    const piece = Buffer.alloc(1024 * 1024);
    const asking = ask({
      ...{ host: "127.0.0.1", port: at.doorPort, method: "POST", agent: false },
      path: "/r/TOKEN/mirror/acme/tool/git-upload-pack",
    });
    asking.on("error", () => {});
    const answered = once(asking, "response") as Promise<[IncomingMessage]>;
    for (let sent = 0; sent < 18; sent += 1) asking.write(piece);

    const [answer] = await answered;
    expect(answer.statusCode).toBe(413);
    expect(at.seen).toEqual([]);
    expect(at.refused).toEqual([["POST /r/*/github/acme/tool/git-upload-pack", "form"]]);
    asking.destroy();
  });

  test("says where a repository went, by the gateway's address, and nothing of other hosts", async () => {
    const at = await world({
      name: "github",
      upstream: (request, response) => {
        const there = request.url?.startsWith("/acme/old")
          ? `${at.registry}/acme/new/info/refs?service=git-upload-pack`
          : "https://evil.example/a/b/info/refs?service=git-upload-pack";
        response.writeHead(301, { location: there }).end();
      },
    });

    const kept = await at.ask("/acme/old/info/refs?service=git-upload-pack");
    expect([kept.status, kept.headers.location]).toEqual([
      301,
      `${at.base}/acme/new/info/refs?service=git-upload-pack`,
    ]);
    const lost = await at.ask("/acme/gone/info/refs?service=git-upload-pack");
    expect([lost.status, lost.headers.location]).toEqual([502, undefined]);
  });
});

describe("Go's proxy behind the gateway", () => {
  test("is asked for what it has already, whatever the client says", async () => {
    const at = await world({ name: "go" });
    await at.ask("/github.com/!burnt!sushi/toml/@v/list", { headers: { "disable-module-fetch": "false" } });
    await at.ask("/sumdb/sum.golang.org/tile/8/0/x001/234");

    expect(at.seen.map(({ url, headers }) => [url, headers["disable-module-fetch"]])).toEqual([
      ["/github.com/!burnt!sushi/toml/@v/list", "true"],
      ["/sumdb/sum.golang.org/tile/8/0/x001/234", "true"],
    ]);
  });

  test("is asked for a checksum only of a version that it has", async () => {
    const at = await world({
      name: "go",
      upstream: (request, response) => {
        response.statusCode = request.url?.includes("evil.example") ? 404 : 200;
        response.end(request.method === "HEAD" ? undefined : "sum");
      },
    });

    expect(await at.ask("/sumdb/sum.golang.org/lookup/golang.org/x/tools@v0.1.0")).toMatchObject({
      body: "sum",
    });
    expect(await at.ask("/sumdb/sum.golang.org/lookup/evil.example/the-secret@v0.1.0")).toMatchObject({
      status: 404,
    });
    expect(at.seen.map(({ method, url }) => `${method} ${url}`)).toEqual([
      "HEAD /golang.org/x/tools/@v/v0.1.0.mod",
      "GET /sumdb/sum.golang.org/lookup/golang.org/x/tools@v0.1.0",
      "HEAD /evil.example/the-secret/@v/v0.1.0.mod",
    ]);
  });

  test.each([
    "/sumdb/evil.example/supported",
    "/sumdb/sum.golang.org/other",
    "/sumdb",
    "/sumdb/sum.golang.org/lookup/a",
  ])("is not asked for %s", async (path) => {
    const at = await world({ name: "go" });

    expect((await at.ask(path)).status).toBe(403);
    expect(at.seen).toEqual([]);
  });
});

describe("replacing in a stream", () => {
  test("gives what replacing in the whole gives, however it is cut, and holds little back", async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(fc.stringMatching(/^[ab/]{0,9}$/)), async (pieces) => {
        const stream = Readable.from(pieces.map((piece) => Buffer.from(piece))).pipe(
          replaceBytes("ab/", "x"),
        );

        expect(await text(stream)).toBe(pieces.join("").replaceAll("ab/", "x"));
      }),
    );
    const stream = replaceBytes("abc", "x");
    stream.write("1234ab");
    expect(String(stream.read())).toBe("1234");
  });
});
