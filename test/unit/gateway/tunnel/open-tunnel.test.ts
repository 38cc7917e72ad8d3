import { once } from "node:events";
import { createServer as createHttpServer } from "node:http";
import { connect, createServer, type Server, type Socket } from "node:net";
import { Duplex } from "node:stream";
import { afterEach, describe, expect, test } from "vitest";
import type { HostTraffic } from "../../../../gateway/http/access-reports.ts";
import { isPublicAddress } from "../../../../gateway/mirror/public-address.ts";
import { openTunnel, type TunnelDeps } from "../../../../gateway/tunnel/open-tunnel.ts";
import type { RefusalReason } from "../../../../src/contract/gateway.ts";
import { hello, serverName } from "../../../fakes/gateway/client-hellos.ts";

const publicAddress = "93.184.215.14";
const allowed = { host: "pypi.org", port: 443 };
const goodHello = hello({ extensions: [serverName("pypi.org")] });
const evilHello = hello({ extensions: [serverName("evil.example")] });

type Serve = typeof openTunnel;

interface World {
  readonly refused: (readonly [what: string, why: RefusalReason])[];
  readonly reached: HostTraffic[];
  /** Everything that was connected to, by address. */
  readonly connections: string[];
  /** The upstream's ends. */
  readonly arrived: Socket[];
  readonly revoke: () => void;
  readonly served: Promise<void>[];
  readonly deps: TunnelDeps;
  /** Opens a connection, and sends these bytes. */
  readonly knock: (bytes: string | Buffer) => Socket;
}

interface Settings extends Partial<TunnelDeps> {
  readonly serve?: Serve;
  readonly onArrival?: (socket: Socket) => void;
  /** Whether what connects can still be written to when the other end has hung up. */
  readonly allowHalfOpen?: boolean;
}

const undo: (() => void)[] = [];
afterEach(() => {
  for (const step of undo.splice(0)) step();
});

/** A door, a host behind it on this machine, and an address book that calls it public. */
async function world({
  serve = openTunnel,
  onArrival,
  allowHalfOpen = true,
  ...given
}: Settings = {}): Promise<World> {
  const controller = new AbortController();
  const arrived: Socket[] = [];
  const upstream = createServer({ allowHalfOpen: true }, (socket) => {
    socket.on("error", () => {});
    arrived.push(socket);
    (onArrival ?? ((end) => end.pipe(end)))(socket);
  });
  const facts = { refused: [], reached: [], connections: [] } as Pick<World, "reached"> & {
    refused: [string, RefusalReason][];
    connections: string[];
  };
  const upstreamPort = await listening(upstream);
  const deps: TunnelDeps = {
    allow: [allowed],
    resolve: async () => [publicAddress],
    connect: async (address, port) => {
      facts.connections.push(`${address}:${port}`);
      const socket = connect({ host: "127.0.0.1", port: upstreamPort, allowHalfOpen });
      await once(socket, "connect");
      return socket;
    },
    refuse: (what, why) => void facts.refused.push([what, why]),
    onEnded: (fact) => void facts.reached.push(fact),
    signal: controller.signal,
    helloMs: 300,
    ...given,
  };
  const served: Promise<void>[] = [];
  const door = createHttpServer();
  door.on("connect", (request, client: Duplex, head: Buffer) => {
    served.push(serve(client, head, request.url ?? "", deps));
  });
  const doorPort = await listening(door);
  undo.push(() => {
    controller.abort();
    door.closeAllConnections();
    door.close();
    for (const socket of arrived) socket.destroy();
    upstream.close();
  });
  const knock = (bytes: string | Buffer): Socket => {
    const client = connect({ host: "127.0.0.1", port: doorPort, allowHalfOpen: true });
    client.on("error", () => {});
    client.write(bytes);
    undo.push(() => void client.destroy());
    return client;
  };
  return { ...facts, arrived, served, deps, knock, revoke: () => controller.abort() };
}

async function listening(server: Server): Promise<number> {
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  return typeof address === "object" && address ? address.port : 0;
}

const connectTo = (authority: string): string => `CONNECT ${authority} HTTP/1.1\r\nHost: x\r\n\r\n`;
const opened = "HTTP/1.1 200 Connection Established\r\n\r\n";

async function all(socket: Socket): Promise<string> {
  const pieces: Buffer[] = [];
  try {
    for await (const piece of socket) pieces.push(piece);
  } catch {
    // A connection that was reset has said all that it will.
  }
  return Buffer.concat(pieces).toString("latin1");
}

/** The next so many bytes. */
async function take(socket: Socket, count: number): Promise<string> {
  let bytes = Buffer.alloc(0);
  while (bytes.length < count) {
    const piece: Buffer | null = socket.read(Math.min(count - bytes.length, socket.readableLength || 1));
    if (piece) bytes = Buffer.concat([bytes, piece]);
    else await Promise.race([once(socket, "readable"), once(socket, "close")]);
    if (socket.destroyed && socket.readableLength === 0) break;
  }
  return bytes.toString("latin1");
}

async function settled({ served }: World): Promise<void> {
  while (served.length === 0) await new Promise((resolve) => setImmediate(resolve));
  await Promise.all(served);
}

/** Asks for a tunnel, says hello as soon as it stands, and gives all that comes back. */
async function attempt(at: World, authority: string, first: Buffer): Promise<string> {
  const client = at.knock(connectTo(authority));
  const begun = await take(client, opened.length);
  if (begun === opened) client.write(first);
  const rest = all(client);
  client.end();
  return begun + (await rest);
}

describe("a tunnel", () => {
  test("leads to the host that is allowed, whole in both directions, and is told once", async () => {
    const at = await world();
    const client = at.knock(connectTo("PyPI.org:443"));
    expect(await take(client, opened.length)).toBe(opened);

    client.write(goodHello);
    client.end("and more");

    expect(await all(client)).toBe(`${goodHello.toString("latin1")}and more`);
    await settled(at);
    expect(at.connections).toEqual([`${publicAddress}:443`]);
    expect(at.refused).toEqual([]);
    const bytes = goodHello.length + 8;
    expect(at.reached).toEqual([{ ...allowed, bytesIn: bytes, bytesOut: bytes, ms: expect.any(Number) }]);
  });

  test("takes a hello that comes with the request, byte by byte, or with data behind it", async () => {
    const at = await world();
    const early = at.knock(
      Buffer.concat([Buffer.from(connectTo("pypi.org:443")), goodHello, Buffer.from("data")]),
    );
    early.end();
    expect(await all(early)).toBe(`${opened}${goodHello.toString("latin1")}data`);

    const slow = at.knock(connectTo("pypi.org:443"));
    slow.setNoDelay(true);
    await take(slow, opened.length);
    for (const byte of goodHello) await new Promise((written) => slow.write(Buffer.from([byte]), written));
    slow.end();
    expect(await all(slow)).toBe(goodHello.toString("latin1"));
    expect(at.refused).toEqual([]);
  });

  test.each([
    ["nobody takes", false],
    ["somebody takes", true],
  ])("reads as much as %s", async (_what, isTaken) => {
    let pieces = 0;
    const upstream = new Duplex({
      read() {
        pieces += 1;
        this.push(pieces <= 1_000 ? Buffer.alloc(64 * 1024) : null);
      },
      write: (_piece, _encoding, done) => done(),
    });
    const client = new Duplex({
      read() {},
      write(piece: Buffer, _encoding, done) {
        if (isTaken || piece.length < 100) setImmediate(done);
      },
    });
    const at = await world({ connect: async () => upstream });
    const served = openTunnel(client, goodHello, "pypi.org:443", at.deps);
    for (let turn = 0; turn < 5_000; turn += 1) await new Promise((resolve) => setImmediate(resolve));

    if (isTaken) expect(pieces).toBeGreaterThan(1_000);
    else expect(pieces).toBeLessThan(5);
    at.revoke();
    await served;
    expect([client.destroyed, upstream.destroyed]).toEqual([true, true]);
  });

  test.each([
    ["hangs up in turn", false],
    ["goes on", true],
  ])(
    "passes all of an answer on whose sender has hung up, when what connects %s",
    async (_what, allowHalfOpen) => {
      const answer = Buffer.alloc(3e6, "x");
      const at = await world({ allowHalfOpen, onArrival: (socket) => socket.resume().end(answer) });
      const client = at.knock(connectTo("pypi.org:443"));
      await take(client, opened.length);
      client.write(goodHello);

      expect((await all(client)).length).toBe(answer.length);
      client.end();
      await settled(at);
      expect(at.reached).toMatchObject([{ bytesOut: answer.length }]);
    },
  );

  test("tries the name's next address when one does not answer", async () => {
    const tried: string[] = [];
    const at = await world({
      resolve: async () => ["2606:4700::1111", publicAddress],
      connect: async (address) => {
        tried.push(address);
        throw new Error("ENETUNREACH");
      },
    });
    await attempt(at, "pypi.org:443", goodHello);
    await settled(at);

    expect(tried).toEqual(["2606:4700::1111", publicAddress]);
    expect(at.refused).toEqual([["pypi.org:443", "unreachable"]]);
    expect(at.reached).toEqual([]);
  });

  test("ends at both ends when its worker is revoked, whatever state it is in", async () => {
    const at = await world({ helloMs: 60_000, onArrival: () => {} });
    const [waiting, passing] = [at.knock(connectTo("pypi.org:443")), at.knock(connectTo("pypi.org:443"))];
    await Promise.all([take(waiting, opened.length), take(passing, opened.length)]);
    passing.write(goodHello);
    while (at.arrived.length === 0) await new Promise((resolve) => setImmediate(resolve));
    const [upstream] = at.arrived;

    at.revoke();

    await Promise.all([all(waiting), all(passing), upstream && all(upstream), settled(at)]);
    expect(at.refused).toEqual([]);
    expect(at.reached).toHaveLength(1);
  });

  test.each(["client", "upstream"] as const)("ends at both ends when the %s's end breaks", async (which) => {
    const at = await world({ onArrival: () => {} });
    const client = at.knock(connectTo("pypi.org:443"));
    await take(client, opened.length);
    client.write(goodHello);
    while (at.arrived.length === 0) await new Promise((resolve) => setImmediate(resolve));
    const [upstream] = at.arrived;
    if (!upstream) throw new Error("nobody arrived");

    const other = which === "client" ? upstream : client;
    const closed = all(other);
    (which === "client" ? client : upstream).resetAndDestroy();

    await closed;
    await settled(at);
    expect(at.reached).toHaveLength(1);
  });

  test.each(["left", "was revoked"])(
    "does not outlive a client that %s while it was being connected",
    async (how) => {
      const [connecting, gate] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
      const at = await world({
        connect: async () => {
          connecting.resolve();
          await gate.promise;
          const socket = connect(await listening(server), "127.0.0.1");
          await once(socket, "connect");
          return socket;
        },
      });
      const ends: Promise<unknown>[] = [];
      const server = createServer((socket) => {
        ends.push(once(socket.resume(), "close"));
      });
      undo.push(() => void server.close());
      const client = at.knock(connectTo("pypi.org:443"));
      await take(client, opened.length);
      client.write(goodHello);
      await connecting.promise;
      if (how === "left") client.resetAndDestroy();
      else at.revoke();
      gate.resolve();

      await settled(at);
      await Promise.all(ends);
      if (how === "was revoked") expect([at.refused, at.reached]).toEqual([[], []]);
    },
  );
});

describe("a request for a tunnel", () => {
  test.each([
    ["a host that is not allowed", "evil.example:443"],
    ["another port", "pypi.org:22"],
    ["a name that ends like an allowed one", "evilpypi.org:443"],
    ["a name below an allowed one", "x.pypi.org:443"],
    ["a name that begins like an allowed one", "pypi.org.evil.example:443"],
    ["the metadata address", "169.254.169.254:80"],
    ["an address in decimal", "2130706433:443"],
    ["an address in hexadecimal", "0x7f000001:443"],
    ["a short address", "127.1:443"],
    ["this machine by its name", "localhost:443"],
  ])("to %s is answered with 403, and nobody looks it up", async (_what, authority) => {
    let lookups = 0;
    const at = await world({
      resolve: async () => {
        lookups += 1;
        return [publicAddress];
      },
    });

    const answer = await attempt(at, authority, goodHello);

    expect(answer).toMatch(/^HTTP\/1\.1 403 /);
    expect(answer).toContain(`swarm: ${authority} is not allowed; `);
    await settled(at);
    expect({ lookups, connections: at.connections }).toEqual({ lookups: 0, connections: [] });
    expect(at.refused).toEqual([[authority, "not-allowed"]]);
  });

  test("says which flag would allow a host, and offers none for an address", async () => {
    const at = await world();

    expect(await attempt(at, "evil.example:8443", goodHello)).toContain(
      "swarm: evil.example:8443 is not allowed; swarm start --allow evil.example:8443 allows the host\n",
    );
    expect(await attempt(at, "10.0.0.1:443", goodHello)).not.toContain("--allow");
  });

  test.each([
    ["without a port", "pypi.org"],
    ["with an empty port", "pypi.org:"],
    ["with port 0", "pypi.org:0"],
    ["with a port that is too large", "pypi.org:65979"],
    ["with a zero in front of the port", "pypi.org:0443"],
    ["with two ports", "pypi.org:443:443"],
    ["with a user", "pypi.org@evil.example:443"],
    ["with a user in front of the host", "me:x@pypi.org:443"],
    ["with a dot at the end", "pypi.org.:443"],
    ["with two dots", "pypi..org:443"],
    ["with an address in brackets", "[::1]:443"],
    ["with an address that holds another", "[::ffff:127.0.0.1]:443"],
    ["with a scheme", "https://pypi.org:443"],
    ["with a path", "pypi.org:443/x"],
    ["with a percent sign", "pypi%2eorg:443"],
    ["with a backslash", "pypi.org\\:443"],
    ["with letters beyond ASCII", "pyp\u00ef.org:443"],
  ])("%s is answered with 400", async (_what, authority) => {
    const at = await world();
    const client = at.knock(Buffer.from(connectTo(authority), "latin1"));

    expect(await take(client, 12)).toBe("HTTP/1.1 400");
    client.end();
    await all(client);
    await Promise.all(at.served);
    expect(at.connections).toEqual([]);
    // Node's own parser takes some of these for no request at all, and answers in our stead.
    for (const [, why] of at.refused) expect(why).toBe("form");
  });

  test.each(["a b:443", "pypi.org:443\r\nx: y", "pypi.org\0:443", "", "\u001b[2Jpypi.org:443"])(
    "for %j is refused where no parser stands before it",
    async (authority) => {
      const at = await world({
        serve: (client, head, _authority, deps) => openTunnel(client, head, authority, deps),
      });

      expect(await attempt(at, "x:1", goodHello)).toMatch(/^HTTP\/1\.1 400 /);
      expect(at.refused).toEqual([[expect.not.stringMatching(/[\0-\x1f]/), "form"]]);
    },
  );

  test.each([
    ["has no address", async () => []],
    ["cannot be looked up", () => Promise.reject(new Error("ENOTFOUND"))],
  ])("to a host that %s is answered with 502", async (_what, resolve) => {
    const at = await world({ resolve });

    expect(await attempt(at, "pypi.org:443", goodHello)).toMatch(/^HTTP\/1\.1 502 /);
    expect(at.refused).toEqual([["pypi.org:443", "not-found"]]);
  });

  test.each([
    "127.0.0.1",
    "169.254.169.254",
    "10.213.0.1",
    "::1",
    "::ffff:127.0.0.1",
    "fd00:ec2::254",
    "nonsense",
  ])("to an allowed name that leads to %s is answered with 403", async (address) => {
    const at = await world({ resolve: async () => [publicAddress, address] });

    expect(await attempt(at, "pypi.org:443", goodHello)).toMatch(/^HTTP\/1\.1 403 /);
    expect(at.refused).toEqual([["pypi.org:443", "not-public"]]);
    expect(at.connections).toEqual([]);
  });

  test("is no longer answered to somebody who does not listen", async () => {
    const at = await world({ helloMs: 30 });
    const client = at.knock(connectTo("evil.example:443"));
    client.pause();

    await settled(at);

    expect(at.refused).toEqual([["evil.example:443", "not-allowed"]]);
  });
});

describe("what goes through a tunnel", () => {
  test.each<readonly [string, Buffer, RefusalReason]>([
    ["TLS for another host", evilHello, "wrong-name"],
    ["TLS for a host below", hello({ extensions: [serverName("upload.pypi.org")] }), "wrong-name"],
    ["TLS for the host with a dot", hello({ extensions: [serverName("pypi.org.")] }), "wrong-name"],
    ["TLS for nobody", hello({}), "no-name"],
    ["TLS for two hosts", hello({ extensions: [serverName("pypi.org", "evil.example")] }), "no-name"],
    [
      "TLS for a host that is hidden",
      hello({ extensions: [serverName("pypi.org"), [0xfe0d, Buffer.alloc(90)]] }),
      "no-name",
    ],
    ["HTTP", Buffer.from("GET / HTTP/1.1\r\nHost: evil.example\r\n\r\n"), "not-tls"],
    ["SSH", Buffer.from("SSH-2.0-x\r\n"), "not-tls"],
    ["a hello that breaks off", goodHello.subarray(0, 60), "not-tls"],
    ["nothing", Buffer.alloc(0), "not-tls"],
  ])("is not %s: nobody is connected to", async (_what, first, why) => {
    const at = await world();

    expect(await attempt(at, "pypi.org:443", first)).toBe(opened);
    await settled(at);
    expect(at.connections).toEqual([]);
    expect(at.refused).toEqual([["pypi.org:443", why]]);
    expect(at.reached).toEqual([]);
  });

  test("is said in time, or not at all", async () => {
    const at = await world({ helloMs: 20 });
    const client = at.knock(connectTo("pypi.org:443"));

    expect(await all(client)).toBe(opened);
    await settled(at);
    expect(at.refused).toEqual([["pypi.org:443", "not-tls"]]);
  });

  test("is said in a few bytes, or not at all", async () => {
    const at = await world({ helloMs: 60_000 });
    const client = at.knock(connectTo("pypi.org:443"));
    await take(client, opened.length);
    client.write(Buffer.concat(Array.from({ length: 2_800 }, () => Buffer.from([0x16, 3, 1, 0, 1, 1]))));

    await all(client);
    await settled(at);
    expect(at.refused).toEqual([["pypi.org:443", "not-tls"]]);
  });
});

describe("without the check, the same attack gets through:", () => {
  /** What most proxies do: the list is asked about the CONNECT alone. */
  const naive: Serve = async (client, head, authority, deps) => {
    const [host = "", port] = authority.split(":");
    if (!deps.allow.some((each) => each.host === host))
      return void client.end("HTTP/1.1 403 Forbidden\r\n\r\n");
    const [address = ""] = await deps.resolve(host);
    client.write(opened);
    const upstream = await deps.connect(address, Number(port));
    upstream.write(head);
    client.pipe(upstream).pipe(client);
    await once(client, "close");
  };

  test("TLS for another host than the one that was asked for", async () => {
    const at = await world({ serve: naive });

    expect(await attempt(at, "pypi.org:443", evilHello)).toBe(opened + evilHello.toString("latin1"));
  });

  test("an allowed name that leads to an address of this machine", async () => {
    const at = await world({ serve: naive, resolve: async () => ["127.0.0.1"] });

    await attempt(at, "pypi.org:443", goodHello);
    expect(at.connections).toEqual(["127.0.0.1:443"]);
  });

  /** A name whose owner answers with another address the second time. */
  function rebinding(): () => Promise<readonly string[]> {
    let times = 0;
    return async () => {
      times += 1;
      return [times === 1 ? publicAddress : "169.254.169.254"];
    };
  }

  test("a name that is looked up once to be checked and once to be connected to", async () => {
    const checked: Serve = async (client, head, authority, deps) => {
      const [host = ""] = authority.split(":");
      if (!(await deps.resolve(host)).every(isPublicAddress)) return void client.destroy();
      await naive(client, head, authority, deps);
    };
    const [fooled, ours] = [
      await world({ serve: checked, resolve: rebinding() }),
      await world({ resolve: rebinding() }),
    ];

    await attempt(fooled, "pypi.org:443", goodHello);
    await attempt(ours, "pypi.org:443", goodHello);

    expect(fooled.connections).toEqual(["169.254.169.254:443"]);
    expect(ours.connections).toEqual([`${publicAddress}:443`]);
  });
});
