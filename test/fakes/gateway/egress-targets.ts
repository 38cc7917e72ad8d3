import { execFileSync } from "node:child_process";
import { createSocket } from "node:dgram";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { createServer as createWeb, type IncomingMessage, type ServerResponse } from "node:http";
import { type AddressInfo, connect, createServer, type Server, type Socket } from "node:net";
import { networkInterfaces, tmpdir } from "node:os";
import { join } from "node:path";
import { createServer as createSecure } from "node:tls";

/** Looks like one on the internet, and is this machine while the tests run; nobody has a machine at it. */
const publicAddress = "11.23.45.67";
/** Beside the address at which clouds tell machines about themselves, which a machine in a cloud must keep. */
const linkLocalAddress = "169.254.77.77";

/** Whatever a sandbox might come to, if it came out; all of it is in this process. */
export interface EgressTargets extends AsyncDisposable {
  readonly publicAddress: string;
  readonly linkLocalAddress: string;
  /** This machine's address in the engine's own network. */
  readonly bridgeAddress: string;
  /** All others that it has. */
  readonly otherAddresses: readonly string[];
  /** Speaks whatever it is spoken to: lines, or HTTP. */
  readonly plainPort: number;
  readonly securePort: number;
  readonly otherSecurePort: number;
  readonly datagramPort: number;
  /** A model, and where workers meet. */
  readonly modelPort: number;
  /** A registry that sends its visitors elsewhere. */
  readonly mirrorPort: number;
  /** A proxy that knows no rules. */
  readonly proxyPort: number;
  /** Whether anything with this word in it has arrived anywhere. */
  hasSeen(word: string): boolean;
  /** What let the gateway in at the model. */
  readonly keys: ReadonlySet<string>;
  /** Who asks the model for something else than an answer. */
  onAsked: (path: string, body: unknown) => Promise<unknown>;
}

/** Names that lead somewhere for whoever is told so: the gateway, and the proxy without rules. */
export const allowedName = "allowed.egress.test";
export function namesOf(bridgeAddress: string): readonly (readonly [name: string, address: string])[] {
  return [
    [allowedName, publicAddress],
    ["private.egress.test", bridgeAddress],
    ["mixed.egress.test", publicAddress],
    ["mixed.egress.test", bridgeAddress],
    ["metadata.egress.test", linkLocalAddress],
    ["looped.egress.test", "127.0.0.1"],
  ];
}

export async function startTargets(bridgeAddress: string): Promise<EgressTargets> {
  await using undo = new AsyncDisposableStack();
  for (const address of [publicAddress, linkLocalAddress]) {
    execFileSync("ip", ["address", "replace", `${address}/32`, "dev", "lo"]);
    undo.defer(() => void execFileSync("ip", ["address", "del", `${address}/32`, "dev", "lo"]));
  }
  let seen = "";
  const see = (bytes: Buffer | string): void => {
    seen += `${bytes.toString("latin1")}\n`;
  };
  const keys = new Set<string>();
  const answer = (socket: Socket): void => {
    socket.on("error", () => {});
    socket.on("data", (bytes: Buffer) => {
      see(bytes);
      const isWeb = bytes.toString("latin1").includes("HTTP/1.1");
      if (isWeb) socket.end("HTTP/1.1 200 OK\r\ncontent-length: 5\r\nconnection: close\r\n\r\npong\n");
      else socket.write("pong\n");
    });
  };
  const plainPort = await listening(undo, createServer(answer));
  const certificate = makeCertificate();
  const secure = (): Server =>
    createSecure(
      {
        ...certificate,
        SNICallback: (name, done) => {
          see(name);
          done(null);
        },
      },
      answer,
    );
  const securePort = await listening(undo, secure());
  const otherSecurePort = await listening(undo, secure());
  const datagramPort = await datagrams(undo, "0.0.0.0", 0, (bytes) => {
    see(bytes);
    return Buffer.from("pong");
  });
  for (const address of [publicAddress, bridgeAddress]) {
    await datagrams(undo, address, 53, (bytes) => {
      see(bytes);
      return nameAnswer(bytes);
    });
    const overTcp = createServer((socket) => {
      socket.on("error", () => {});
      socket.once("data", (bytes: Buffer) => {
        see(bytes);
        const said = nameAnswer(bytes.subarray(2));
        socket.end(Buffer.concat([Buffer.from([0, said.length]), said]));
      });
    });
    await listening(undo, overTcp, { host: address, port: 53 });
  }

  const targets = {
    ...{
      publicAddress,
      linkLocalAddress,
      bridgeAddress,
      plainPort,
      securePort,
      otherSecurePort,
      datagramPort,
      keys,
    },
    otherAddresses: Object.values(networkInterfaces())
      .flatMap((each) => each ?? [])
      .filter(({ family, internal }) => family === "IPv4" && !internal)
      .map(({ address }) => address)
      .filter((address) => address !== bridgeAddress),
    onAsked: async (): Promise<unknown> => ({}),
    hasSeen: (word: string) => seen.includes(word),
  };
  const model = createWeb(async (request, response) => {
    keys.add(request.headers.authorization ?? "");
    see(request.url ?? "");
    if (request.method !== "POST") return void response.end("pong");
    const body = Buffer.concat(await request.toArray()).toString();
    see(body);
    response.writeHead(200, { "content-type": "application/json" });
    response.end(JSON.stringify(await ready.onAsked(request.url ?? "", JSON.parse(body))));
  });
  const modelPort = await listening(undo, model);
  const mirrorPort = await listening(
    undo,
    createWeb((request, response) => sendElsewhere(request, response, { ...targets, see })),
  );
  const proxyPort = await listening(
    undo,
    createServer((client) => passAnything(client, namesOf(bridgeAddress))),
  );
  const held = undo.move();
  const ready: EgressTargets = {
    ...{ ...targets, modelPort, mirrorPort, proxyPort },
    [Symbol.asyncDispose]: () => held.disposeAsync(),
  };
  return ready;
}

/** `/at/public/…` and the like: where to. */
function sendElsewhere(
  request: IncomingMessage,
  response: ServerResponse,
  to: Pick<
    EgressTargets,
    "publicAddress" | "linkLocalAddress" | "bridgeAddress" | "plainPort" | "securePort"
  > & {
    readonly see: (text: string) => void;
  },
): void {
  const [, , where = "", word = ""] = (request.url ?? "").split("/");
  const places: Readonly<Record<string, string>> = {
    plain: `http://${to.publicAddress}:${to.plainPort}`,
    private: `https://${to.bridgeAddress}:${to.securePort}`,
    name: `https://private.egress.test:${to.securePort}`,
    metadata: `https://${to.linkLocalAddress}:${to.securePort}`,
  };
  response.writeHead(302, { location: `${places[where]}/${word}` }).end();
}

/** Goes wherever it is told to, by whatever spelling. */
function passAnything(client: Socket, names: readonly (readonly [string, string])[]): void {
  client.on("error", () => {});
  client.once("data", (bytes: Buffer) => {
    const text = bytes.toString("latin1");
    const [, authority = ""] = /^(?:CONNECT |GET http:\/\/)([^\s/]+)/.exec(text) ?? [];
    const [, name = "", port = ""] = /^\[?(.*?)\]?:(\d+)$/.exec(authority) ?? [];
    const host = names.findLast(([known]) => name.includes(known))?.[1] ?? name;
    // Every name that nobody knows leads to the public address, as their owners would have it.
    const upstream = connect({ host: /\.test\.?$/.test(host) ? publicAddress : host, port: Number(port) });
    upstream.on("error", () => client.destroy());
    upstream.once("connect", () => {
      if (text.startsWith("CONNECT")) client.write("HTTP/1.1 200 Connection Established\r\n\r\n");
      const end = text.indexOf("\r\n\r\n") + 4;
      const rest = text.startsWith("CONNECT") ? bytes.subarray(end) : bytes;
      if (rest.length > 0) upstream.write(rest);
      client.pipe(upstream).pipe(client);
    });
  });
}

async function listening(
  undo: AsyncDisposableStack,
  server: Server,
  place: { readonly host: string; readonly port: number } = { host: "0.0.0.0", port: 0 },
): Promise<number> {
  const open = new Set<Socket>();
  server.on("connection", (socket: Socket) => {
    open.add(socket.on("error", () => {}).on("close", () => open.delete(socket)));
  });
  server.listen(place);
  await once(server, "listening");
  undo.defer(async () => {
    const closed = new Promise((resolve) => server.close(resolve));
    for (const socket of open) socket.destroy();
    await closed;
  });
  return (server.address() as AddressInfo).port;
}

async function datagrams(
  undo: AsyncDisposableStack,
  address: string,
  port: number,
  reply: (bytes: Buffer) => Buffer,
): Promise<number> {
  const socket = createSocket("udp4");
  socket.on("message", (bytes, from) => socket.send(reply(bytes), from.port, from.address));
  socket.bind(port, address);
  await once(socket, "listening");
  undo.defer(() => void socket.close());
  return socket.address().port;
}

/** The public address for every name. */
function nameAnswer(question: Buffer): Buffer {
  // Whatever else was asked besides is left out.
  const end = question.indexOf(0, 12) + 5;
  const asked = question.subarray(12, end);
  const isAddress = asked.readUInt16BE(asked.length - 4) === 1;
  const head = Buffer.from([...question.subarray(0, 2), 0x81, 0x80, 0, 1, 0, isAddress ? 1 : 0, 0, 0, 0, 0]);
  const found = [0xc0, 0x0c, 0, 1, 0, 1, 0, 0, 0, 5, 0, 4, ...publicAddress.split(".").map(Number)];
  return Buffer.concat([head, asked, Buffer.from(isAddress ? found : [])]);
}

function makeCertificate(): { readonly key: Buffer; readonly cert: Buffer } {
  const folder = mkdtempSync(join(tmpdir(), "swarm-certificate-"));
  const [key, cert] = [join(folder, "key.pem"), join(folder, "cert.pem")];
  const made = ["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"];
  execFileSync("openssl", [...made, "-subj", `/CN=${allowedName}`, "-keyout", key, "-out", cert], {
    stdio: "ignore",
  });
  const certificate = { key: readFileSync(key), cert: readFileSync(cert) };
  rmSync(folder, { recursive: true });
  return certificate;
}
