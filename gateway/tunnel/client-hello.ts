/** The result of parsing the first bytes of a connection as a TLS ClientHello. */
export type ClientHello =
  /** The ClientHello is incomplete: at least `missing` more bytes are needed. */
  | { readonly kind: "more"; readonly missing: number }
  | { readonly kind: "not-tls" }
  /**
   * The ClientHello is complete. `serverName` is the requested server name in lower case, or null if the name
   * is absent or ambiguous.
   */
  | { readonly kind: "hello"; readonly serverName: string | null };

const maxBytes = 16 * 1024;
const maxRecordLength = 16 * 1024;
const handshakeRecord = 0x16;
const clientHelloMessage = 1;

const serverNameExtension = 0;
/**
 * The TLS extension types of Encrypted ClientHello and encrypted SNI, which hide the real server name. The
 * gateway also refuses GREASE extensions, which look the same; in sandboxes, only browsers send any of these.
 */
const hidingExtensions: readonly number[] = [0xfe0d, 0xffce];

/**
 * Reads the server name from the first bytes of a TLS connection, which may be split into several TLS
 * records. Returns no name if the name is ambiguous, because the caller allows or refuses the connection by
 * the name.
 */
export function readClientHello(bytes: Uint8Array): ClientHello {
  const message = joinRecords(bytes.subarray(0, maxBytes));
  if (message === "not-tls") return { kind: "not-tls" };
  if (typeof message === "number")
    return bytes.length >= maxBytes ? { kind: "not-tls" } : { kind: "more", missing: message };
  const extensions = readExtensions(message);
  if (extensions === null) return { kind: "not-tls" };
  return { kind: "hello", serverName: serverNameIn(extensions) };
}

/**
 * Returns the body of the first TLS handshake message, or the number of bytes that are still missing. Returns
 * `not-tls` if the bytes are not TLS handshake records.
 */
function joinRecords(bytes: Uint8Array): Uint8Array | number | "not-tls" {
  const pieces: Uint8Array[] = [];
  let length = 0;
  let missing = 1;
  for (let at = 0; ; ) {
    const [type, major, minor] = bytes.subarray(at, at + 3);
    if ((type ?? handshakeRecord) !== handshakeRecord) return "not-tls";
    if ((major ?? 3) !== 3 || (minor ?? 0) > 4) return "not-tls";
    if (at + 5 > bytes.length) return missing;
    const recordLength = number(bytes, at + 3, 2);
    if (recordLength === 0 || recordLength > maxRecordLength) return "not-tls";

    const piece = bytes.subarray(at + 5, at + 5 + recordLength);
    pieces.push(piece);
    length += piece.length;
    at += 5 + recordLength;

    const header = firstBytes(pieces, 4);
    if ((header[0] ?? clientHelloMessage) !== clientHelloMessage) return "not-tls";
    if (header.length === 4) {
      const wanted = 4 + number(header, 1, 3);
      if (wanted > maxBytes || length - piece.length + recordLength > wanted) return "not-tls";
      if (length === wanted) return firstBytes(pieces, wanted).subarray(4);
      missing = wanted - length;
    }
    if (piece.length < recordLength) return missing;
  }
}

function firstBytes(pieces: readonly Uint8Array[], count: number): Uint8Array {
  const joined = new Uint8Array(count);
  let length = 0;
  for (const piece of pieces) {
    const part = piece.subarray(0, count - length);
    joined.set(part, length);
    length += part.length;
    if (length === count) break;
  }
  return joined.subarray(0, length);
}

interface Extension {
  readonly type: number;
  readonly content: Uint8Array;
}

/** Returns the TLS extensions of a ClientHello, or null if one of its length fields is wrong. */
function readExtensions(message: Uint8Array): Extension[] | null {
  const versionAndRandom = 2 + 32;
  if (message.length < versionAndRandom) return null;
  const session = cutPart(message.subarray(versionAndRandom), 1);
  const ciphers = session && cutPart(session.rest, 2);
  const compressions = ciphers && cutPart(ciphers.rest, 1);
  if (!compressions || session.part.length > 32) return null;
  if (ciphers.part.length < 2 || ciphers.part.length % 2 === 1 || compressions.part.length === 0) return null;
  if (compressions.rest.length === 0) return [];

  const list = cutPart(compressions.rest, 2);
  if (!list || list.rest.length > 0) return null;
  const extensions: Extension[] = [];
  for (let rest = list.part; rest.length > 0; ) {
    const cut = cutPart(rest.subarray(2), 2);
    if (!cut) return null;
    extensions.push({ type: number(rest, 0, 2), content: cut.part });
    rest = cut.rest;
  }
  return extensions;
}

function serverNameIn(extensions: readonly Extension[]): string | null {
  if (extensions.some(({ type }) => hidingExtensions.includes(type))) return null;
  const [first, ...others] = extensions.filter(({ type }) => type === serverNameExtension);
  if (!first || others.length > 0) return null;

  const list = cutPart(first.content, 2);
  if (!list || list.rest.length > 0 || list.part[0] !== 0) return null;
  const name = cutPart(list.part.subarray(1), 2);
  if (!name || name.rest.length > 0) return null;
  const text = String.fromCharCode(...name.part.subarray(0, 254));
  return /^[A-Za-z0-9._-]{1,253}$/.test(text) ? text.toLowerCase() : null;
}

/**
 * Reads a length field and splits off as many bytes as it states. Returns these bytes and the rest, or null
 * if too few bytes are left.
 */
function cutPart(bytes: Uint8Array, lengthBytes: number): { part: Uint8Array; rest: Uint8Array } | null {
  if (bytes.length < lengthBytes) return null;
  const end = lengthBytes + number(bytes, 0, lengthBytes);
  return bytes.length < end ? null : { part: bytes.subarray(lengthBytes, end), rest: bytes.subarray(end) };
}

function number(bytes: Uint8Array, at: number, count: number): number {
  return bytes.subarray(at, at + count).reduce((total, byte) => total * 256 + byte, 0);
}
