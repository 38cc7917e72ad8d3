import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { readClientHello } from "../../../../gateway/tunnel/client-hello.ts";
import {
  hello,
  helloMessage,
  led,
  realHello,
  records,
  serverName,
} from "../../../fakes/gateway/client-hellos.ts";

const named = serverName("pypi.org");

/** Whoever waits for as much as is said to be missing must not wait for more than comes. */
function expectMore(bytes: Uint8Array, end: number): void {
  const read = readClientHello(bytes.subarray(0, end));
  expect(read.kind).toBe("more");
  if (read.kind === "more") expect(read.missing).toBeLessThanOrEqual(bytes.length - end);
}

describe("the first bytes of a TLS client", () => {
  test.each([
    ["TLS 1.3", { minVersion: "TLSv1.3" }],
    ["TLS 1.2", { maxVersion: "TLSv1.2" }],
    ["several protocols", { ALPNProtocols: ["h2", "http/1.1"] }],
  ] as const)("name the host, as Node writes them for %s, wherever they are cut", async (_what, options) => {
    const bytes = await realHello({ servername: "Files.PythonHosted.org", ...options });

    expect(readClientHello(bytes)).toEqual({ kind: "hello", serverName: "files.pythonhosted.org" });
    for (let end = 0; end < bytes.length; end += 1) expectMore(bytes, end);
  });

  test("name the host when their message is spread over records of any size", async () => {
    const message = (await realHello({ servername: "pypi.org" })).subarray(5);
    for (let pieceBytes = 1; pieceBytes <= message.length; pieceBytes += pieceBytes < 12 ? 1 : 97) {
      const bytes = records(message, pieceBytes);

      expect(readClientHello(bytes)).toEqual({ kind: "hello", serverName: "pypi.org" });
      for (let end = bytes.length - 1; end > 0; end -= 1 + Math.floor(bytes.length / 40))
        expectMore(bytes, end);
    }
  });

  test("name none where a client asks for an address", async () => {
    expect(readClientHello(await realHello({}))).toEqual({ kind: "hello", serverName: null });
  });

  test("may be followed by others", async () => {
    const bytes = Buffer.concat([hello({ extensions: [named] }), Buffer.from("early data")]);

    expect(readClientHello(bytes)).toEqual({ kind: "hello", serverName: "pypi.org" });
  });

  test.each([
    ["two extensions with a name", [named, serverName("evil.example")]],
    ["the same name twice", [named, named]],
    ["two names in one extension", [serverName("pypi.org", "evil.example")]],
    ["no name in the extension", [serverName()]],
    ["an empty extension", [[0, Buffer.alloc(0)]]],
    ["an empty name", [serverName("")]],
    ["a name of another type", [[0, led(2, Buffer.from([1]), led(2, "pypi.org"))]]],
    ["a NUL in the name", [serverName("pypi.org\0.evil.example")]],
    ["letters beyond ASCII", [serverName("pyp\u0456.org")]],
    ["bytes beyond UTF-8", [serverName(Buffer.from([0x70, 0xff, 0x2e, 0x6f]))]],
    ["a space in the name", [serverName("pypi.org evil.example")]],
    ["a port in the name", [serverName("pypi.org:443")]],
    ["a name that is too long", [serverName("a".repeat(254))]],
    ["a name longer than its list", [[0, Buffer.from([0, 5, 0, 0, 9, 0x70, 0x79])]]],
    ["more behind the list", [[0, Buffer.concat([named[1], Buffer.from("x")])]]],
    ["an encrypted hello", [named, [0xfe0d, Buffer.alloc(200, 1)]]],
    ["an encrypted hello in front", [[0xfe0d, Buffer.alloc(0)], named]],
    ["an encrypted name of the older kind", [named, [0xffce, Buffer.alloc(40)]]],
    ["no extension at all", []],
  ] as const)("with %s name no host", (_what, extensions) => {
    expect(readClientHello(hello({ extensions }))).toEqual({ kind: "hello", serverName: null });
  });

  test.each<readonly [string, Buffer]>([
    ["HTTP", Buffer.from("GET / HTTP/1.1\r\nHost: pypi.org\r\n\r\n")],
    ["SSH", Buffer.from("SSH-2.0-OpenSSH_9.2\r\n")],
    ["SSL 2", Buffer.from([0x80, 0x2e, 1, 3, 1])],
    ["an alert", Buffer.from([0x15, 3, 1, 0, 2, 1, 0])],
    ["another version", Buffer.from([0x16, 2, 0, 0, 4, 1, 0, 0, 0])],
    ["a version to come", Buffer.from([0x16, 3, 5, 0, 4, 1, 0, 0, 0])],
    ["an empty record", Buffer.from([0x16, 3, 1, 0, 0])],
    ["a record that is too long", Buffer.from([0x16, 3, 1, 0x40, 1])],
    ["another message", Buffer.from([0x16, 3, 1, 0, 4, 2, 0, 0, 0])],
    ["a message longer than is read", Buffer.from([0x16, 3, 1, 0, 4, 1, 1, 0, 0])],
    ["more in the message's last record", records(Buffer.concat([helloMessage({}), Buffer.from([1])]))],
    ["more said to come in it", records(Buffer.concat([helloMessage({}), Buffer.alloc(9)])).subarray(0, 50)],
    ["another record in between", split(0x15)],
    ["an odd list of ciphers", hello({ ciphers: Buffer.from([1, 2, 3]) })],
    ["no ciphers", hello({ ciphers: Buffer.alloc(0) })],
    ["no compression", hello({ compressions: Buffer.alloc(0) })],
    ["a session that is too long", hello({ session: Buffer.alloc(33) })],
    ["more behind the extensions", hello({ extensions: [named], tail: Buffer.from("x") })],
    ["an empty message", records(Buffer.from([1, 0, 0, 0]))],
  ])("that are %s are no TLS", (_what, bytes) => {
    expect(readClientHello(bytes)).toEqual({ kind: "not-tls" });
  });

  test("are not waited for longer than a hello can be", () => {
    const endless = records(Buffer.concat([Buffer.from([1, 0, 0x3f, 0xfc]), Buffer.alloc(16_380)]), 1);

    expect(readClientHello(endless.subarray(0, 16_383))).toMatchObject({ kind: "more" });
    expect(readClientHello(endless.subarray(0, 16_384))).toEqual({ kind: "not-tls" });
  });

  test("never make the reader fail, and never name what is no name", () => {
    const valid = hello({ extensions: [named, [16, led(2, led(1, "h2"))]] });
    const mutated = fc
      .array(fc.tuple(fc.nat({ max: valid.length - 1 }), fc.nat({ max: 255 })), { maxLength: 4 })
      .map((changes) => {
        const bytes = Buffer.from(valid);
        for (const [at, value] of changes) bytes[at] = value;
        return bytes;
      });
    fc.assert(
      fc.property(fc.oneof(fc.uint8Array({ maxLength: 400 }), mutated), (bytes) => {
        const read = readClientHello(bytes);
        if (read.kind === "hello" && read.serverName !== null)
          expect(read.serverName).toMatch(/^[a-z0-9._-]+$/);
      }),
      { numRuns: 5_000 },
    );
  });
});

/** A hello whose second record is of another type. */
function split(type: number): Buffer {
  const bytes = records(helloMessage({ extensions: [named] }), 40);
  bytes[45] = type;
  return bytes;
}
