import { once } from "node:events";
import { createServer } from "node:net";
import { type ConnectionOptions, connect } from "node:tls";

/** The first bytes that Node's own TLS sends. */
export async function realHello(options: ConnectionOptions): Promise<Buffer> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  const client = connect({
    host: "127.0.0.1",
    port: typeof address === "object" && address ? address.port : 0,
    ...options,
  });
  client.on("error", () => {});
  const [connection] = await once(server, "connection");
  const chunks: Buffer[] = [];
  let wanted = 5;
  for await (const chunk of connection) {
    chunks.push(chunk);
    const bytes = Buffer.concat(chunks);
    if (bytes.length >= 5) wanted = 5 + bytes.readUInt16BE(3);
    if (bytes.length >= wanted) break;
  }
  client.destroy();
  server.close();
  return Buffer.concat(chunks);
}

type Extension = readonly [type: number, content: Uint8Array];

interface HelloFields {
  readonly extensions?: readonly Extension[];
  readonly session?: Uint8Array;
  readonly ciphers?: Uint8Array;
  readonly compressions?: Uint8Array;
  /** What stands behind the extensions. */
  readonly tail?: Uint8Array;
}

/** A part led by its length. */
export function led(lengthBytes: number, ...parts: readonly (Uint8Array | string)[]): Buffer {
  const content = Buffer.concat(parts.map((part) => Buffer.from(part)));
  const length = Buffer.alloc(lengthBytes);
  length.writeUIntBE(content.length, 0, lengthBytes);
  return Buffer.concat([length, content]);
}

export function serverName(...names: readonly (string | Uint8Array)[]): Extension {
  return [0, led(2, ...names.map((name) => Buffer.concat([Buffer.from([0]), led(2, name)])))];
}

/** A hello in one record, of whatever is wanted. */
export function hello(fields: HelloFields): Buffer {
  return records(helloMessage(fields));
}

export function helloMessage(fields: HelloFields): Buffer {
  const { extensions = [], session = Buffer.alloc(32), ciphers = Buffer.from([0x13, 1]) } = fields;
  const written = extensions.map(([type, content]) =>
    Buffer.concat([Buffer.from([type >> 8, type & 0xff]), led(2, content)]),
  );
  const body = Buffer.concat([
    Buffer.from([3, 3]),
    Buffer.alloc(32, 7),
    led(1, session),
    led(2, ciphers),
    led(1, fields.compressions ?? Buffer.from([0])),
    led(2, ...written),
    fields.tail ?? Buffer.alloc(0),
  ]);
  return Buffer.concat([Buffer.from([1]), led(3, body)]);
}

/** A handshake message cut into records of so many bytes. */
export function records(message: Buffer, pieceBytes: number = message.length): Buffer {
  const pieces: Buffer[] = [];
  for (let at = 0; at < message.length; at += pieceBytes)
    pieces.push(Buffer.from([0x16, 3, 1]), led(2, message.subarray(at, at + pieceBytes)));
  return Buffer.concat(pieces);
}
