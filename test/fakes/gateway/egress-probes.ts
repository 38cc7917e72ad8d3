import { execFile } from "node:child_process";
import { createSocket } from "node:dgram";
import { lookup } from "node:dns/promises";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { chmod, mkdir, rename, symlink, unlink, writeFile } from "node:fs/promises";
import { connect, createServer, type Socket } from "node:net";
import { networkInterfaces } from "node:os";
import { connect as connectSecurely } from "node:tls";

/**
 * Tries ways out of a container, from within: it is carried there, and has nothing but Node.
 *   node egress-probes.ts worker <slug>    asks its model which ones, and writes what came of them into results.json
 *   node egress-probes.ts control          reads them from its input and writes what came of them to its output
 *   node egress-probes.ts listen           is a neighbour to others
 */
export type Probe =
  | { readonly kind: "tcp" | "udp"; readonly host: string; readonly port: number }
  | { readonly kind: "dns"; readonly transport: "tcp" | "udp"; readonly host: string; readonly name: string }
  | { readonly kind: "name"; readonly name: string }
  | { readonly kind: "icmp"; readonly host: string }
  | { readonly kind: "unix"; readonly path: string }
  | { readonly kind: "scan"; readonly host: string; readonly ports: readonly number[] }
  /** Whether one of these is there. */
  | { readonly kind: "files"; readonly paths: readonly string[] }
  /** Whether anything in a folder can be changed. */
  | { readonly kind: "change"; readonly folder: string; readonly file: string }
  /** `token`: its own where none is given; `""` shows none. */
  | {
      readonly kind: "tunnel";
      readonly authority: string;
      readonly token?: string;
      /** Spoken within: TLS for a name, for none, or no TLS at all. */
      readonly within: { readonly serverName: string } | "no-name" | "plain";
    }
  /** Bytes for the door as they are, where `{auth}` is a header with its token. */
  | { readonly kind: "raw"; readonly text: string }
  | { readonly kind: "model"; readonly path: string; readonly token?: string }
  | { readonly kind: "mirror"; readonly path: string }
  | { readonly kind: "command"; readonly command: readonly string[]; readonly env?: Record<string, string> };

/** A way out, by several attempts; what is sent on it has a word in it that is its own. */
export interface Attempts {
  readonly word: string;
  readonly probes: readonly Probe[];
}

export interface Outcome {
  readonly isThrough: boolean;
  readonly detail: string;
}

/** What others must know of who tries. */
export interface Traveller {
  readonly slug: string;
  readonly addresses: readonly string[];
  readonly token: string;
}

export const neighbourPort = 28_991;

const patienceMs = 5_000;
const answerWord = "pong";
const env = process.env;

async function attempt(probe: Probe, word: string): Promise<Outcome> {
  switch (probe.kind) {
    case "tcp": {
      await using socket = opened(connect({ host: probe.host, port: probe.port }));
      await told(socket, "connect");
      return { isThrough: true, detail: await answerTo(socket, word) };
    }
    case "unix": {
      await using socket = opened(connect({ path: probe.path }));
      await told(socket, "connect");
      return { isThrough: true, detail: "connected" };
    }
    case "udp":
      return {
        isThrough: true,
        detail: (await datagram(probe.host, probe.port, Buffer.from(word))).toString(),
      };
    case "dns":
      return askName(probe, word);
    case "name":
      return { isThrough: true, detail: (await lookup(probe.name)).address };
    case "icmp":
      return run(["python3", "-c", pingProgram, probe.host], /^reply/m);
    case "scan":
      return scan(probe.host, probe.ports);
    case "files": {
      const found = probe.paths.filter((path) => existsSync(path));
      return { isThrough: found.length > 0, detail: found.join() };
    }
    case "change":
      return change(probe.folder, probe.file);
    case "tunnel":
      return tunnel(probe, word);
    case "raw": {
      await using socket = opened(connect(doorAddress()));
      await told(socket, "connect");
      socket.write(probe.text.replaceAll("{auth}", authorization(doorToken())));
      const said = await until(socket, answerWord);
      return { isThrough: said.includes(answerWord), detail: said };
    }
    case "model": {
      const token = probe.token ?? env["AIMI_MODEL_LAB_KEY"] ?? "";
      const answer = await fetch(`${env["AIMI_MODEL_LAB_URL"]}${probe.path}`, {
        headers: token === "" ? {} : { authorization: `Bearer ${token}` },
        signal: AbortSignal.timeout(patienceMs),
      });
      return heard(`${answer.status} ${await answer.text()}`);
    }
    case "mirror": {
      const answer = await fetch(`${env["GOPROXY"]}${probe.path}`, {
        signal: AbortSignal.timeout(patienceMs),
      });
      return heard(`${answer.status} ${await answer.text()}`);
    }
    case "command":
      return run(probe.command, /pong/, probe.env);
  }
}

function heard(said: string): Outcome {
  return { isThrough: said.includes(answerWord), detail: said };
}

async function tunnel(probe: Extract<Probe, { kind: "tunnel" }>, word: string): Promise<Outcome> {
  await using socket = opened(connect(doorAddress()));
  await told(socket, "connect");
  const token = probe.token ?? doorToken();
  const header = token === "" ? "" : authorization(token);
  socket.write(`CONNECT ${probe.authority} HTTP/1.1\r\nHost: ${probe.authority}\r\n${header}\r\n`);
  const said = await until(socket, "\r\n\r\n");
  if (!said.startsWith("HTTP/1.1 200")) return { isThrough: false, detail: said };
  const request = `GET /${word} HTTP/1.1\r\nHost: target\r\nConnection: close\r\n\r\n`;
  if (probe.within === "plain") {
    socket.write(request);
    return heard(await until(socket, answerWord));
  }
  await using secure = opened(
    connectSecurely({
      ...{ socket, rejectUnauthorized: false },
      ...(probe.within !== "no-name" && { servername: probe.within.serverName }),
    }),
  );
  await told(secure, "secureConnect");
  secure.write(request);
  return heard(await until(secure, answerWord));
}

async function askName(probe: Extract<Probe, { kind: "dns" }>, word: string): Promise<Outcome> {
  const labels = `${word}.${probe.name}`.split(".");
  const name = Buffer.concat(
    labels.map((label) => Buffer.from(`${String.fromCharCode(label.length)}${label}`)),
  );
  const header = Buffer.from([7, 7, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0]);
  const question = Buffer.concat([header, name, Buffer.from([0, 0, 1, 0, 1])]);
  let answer: Buffer;
  if (probe.transport === "udp") answer = await datagram(probe.host, 53, question);
  else {
    await using socket = opened(connect({ host: probe.host, port: 53 }));
    await told(socket, "connect");
    socket.write(Buffer.concat([Buffer.from([0, question.length]), question]));
    answer = Buffer.from(await until(socket, "\u0004"), "latin1").subarray(2);
  }
  const answers = answer.length >= 8 ? answer.readUInt16BE(6) : 0;
  return { isThrough: answers > 0, detail: `${answers} answers` };
}

function datagram(host: string, port: number, bytes: Buffer): Promise<Buffer> {
  const { promise, resolve, reject } = Promise.withResolvers<Buffer>();
  const socket = createSocket("udp4");
  const timer = setTimeout(() => reject(new Error("no answer")), patienceMs);
  socket.once("message", resolve).once("error", reject);
  // Once more: nobody promises that a datagram arrives.
  for (const wait of [0, patienceMs / 3])
    setTimeout(() => socket.send(bytes, port, host, (error) => error && reject(error)), wait).unref();
  return promise.finally(() => {
    clearTimeout(timer);
    setTimeout(() => socket.close(), patienceMs).unref();
  });
}

async function scan(host: string, ports: readonly number[]): Promise<Outcome> {
  const waiting = [...ports];
  const open: number[] = [];
  const work = async (): Promise<void> => {
    for (let port = waiting.pop(); port !== undefined; port = waiting.pop()) {
      await using socket = opened(connect({ host, port }));
      if (await told(socket, "connect").then(Boolean, () => false)) open.push(port);
    }
  };
  await Promise.all(Array.from({ length: 32 }, work));
  return { isThrough: open.length > 0, detail: open.join() };
}

async function change(folder: string, file: string): Promise<Outcome> {
  const ways: Readonly<Record<string, () => Promise<unknown>>> = {
    write: () => writeFile(`${folder}/probe`, "probe"),
    mkdir: () => mkdir(`${folder}/probe-folder`),
    link: () => symlink("/etc/passwd", `${folder}/probe-link`),
    rename: () => rename(`${folder}/${file}`, `${folder}/probe-renamed`),
    chmod: () => chmod(`${folder}/${file}`, 0o777),
    unlink: () => unlink(`${folder}/${file}`),
  };
  const done: string[] = [];
  for (const [name, act] of Object.entries(ways))
    if (
      await act().then(
        () => true,
        () => false,
      )
    )
      done.push(name);
  return { isThrough: done.length > 0, detail: done.join() };
}

function run(command: readonly string[], sign: RegExp, more: Record<string, string> = {}): Promise<Outcome> {
  const [program = "", ...args] = command;
  return new Promise((resolve) => {
    execFile(program, args, { timeout: 20_000, env: { ...env, ...more } }, (error, stdout, stderr) =>
      resolve({ isThrough: sign.test(stdout), detail: `${error?.message ?? ""} ${stdout} ${stderr}` }),
    );
  });
}

const pingProgram = `
import socket, struct, sys
ping = socket.socket(socket.AF_INET, socket.SOCK_DGRAM, socket.IPPROTO_ICMP)
ping.settimeout(3)
body = struct.pack("!BBHHH", 8, 0, 0, 1, 1) + b"probe"
total = sum(struct.unpack("!6H", body[:12])) + (body[12] << 8)
total = (total >> 16) + (total & 0xffff)
ping.sendto(body[:2] + struct.pack("!H", ~(total + (total >> 16)) & 0xffff) + body[4:], (sys.argv[1], 0))
print("reply", len(ping.recv(100)))
`;

function opened<Connection extends Socket>(socket: Connection): Connection & AsyncDisposable {
  socket.on("error", () => {});
  return Object.assign(socket, {
    [Symbol.asyncDispose]: async () => {
      socket.destroy();
    },
  });
}

function told(socket: Socket, event: "connect" | "secureConnect"): Promise<true> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => reject(new Error("it does not answer")), patienceMs);
    timer.unref();
    socket.once(event, () => resolve(true));
    socket.once("error", reject);
    socket.once("close", () => reject(new Error("it was closed")));
  });
}

/** What is said up to a word, or to the end. */
async function until(socket: Socket, word: string): Promise<string> {
  let said = "";
  const timer = setTimeout(() => socket.destroy(), patienceMs);
  try {
    for await (const piece of socket.iterator({ destroyOnReturn: false })) {
      said += (piece as Buffer).toString("latin1");
      if (said.includes(word)) break;
    }
  } catch {
    // Whatever was said before counts.
  }
  clearTimeout(timer);
  return said;
}

async function answerTo(socket: Socket, word: string): Promise<string> {
  socket.write(`${word}\n`);
  return `connected, and it said ${JSON.stringify(await until(socket, "\n"))}`;
}

function proxy(): URL {
  return new URL(env["HTTPS_PROXY"] ?? "http://nobody:none@127.0.0.1:1");
}

function doorAddress(): { host: string; port: number } {
  return { host: proxy().hostname, port: Number(proxy().port) };
}

function doorToken(): string {
  return proxy().password;
}

function authorization(token: string): string {
  return `Proxy-Authorization: Basic ${Buffer.from(`worker:${token}`).toString("base64")}\r\n`;
}

/** More at once would wait for each other on a busy machine, and be taken for what does not answer. */
const maxAtOnce = 8;

/** What came of each, a few at a time. */
async function attemptAll(
  attempts: Readonly<Record<string, Attempts>>,
): Promise<Record<string, readonly Outcome[]>> {
  const waiting: (() => Promise<void>)[] = [];
  const outcomes = Object.entries(attempts).map(([name, { word, probes }]) => {
    const found: Outcome[] = [];
    for (const [index, probe] of probes.entries())
      waiting.push(async () => {
        found[index] = await attempt(probe, word).catch((error: Error) => ({
          ...{ isThrough: false, detail: String(error) },
        }));
      });
    return [name, found] as const;
  });
  const work = async (): Promise<void> => {
    for (let next = waiting.shift(); next; next = waiting.shift()) await next();
  };
  await Promise.all(Array.from({ length: maxAtOnce }, work));
  return Object.fromEntries(outcomes);
}

function listen(): void {
  createServer((socket) => socket.on("error", () => {}).end(`${answerWord}\n`)).listen(
    neighbourPort,
    "0.0.0.0",
  );
  const socket = createSocket("udp4");
  socket.on("message", (_bytes, { address, port }) => socket.send(answerWord, port, address));
  socket.bind(neighbourPort, "0.0.0.0", () => process.stdout.write("listening\n"));
}

async function asModel(path: string, body: unknown): Promise<Record<string, Attempts>> {
  const answer = await fetch(`${env["AIMI_MODEL_LAB_URL"]}/${path}`, {
    method: "POST",
    headers: { authorization: `Bearer ${env["AIMI_MODEL_LAB_KEY"]}`, "content-type": "application/json" },
    body: JSON.stringify(body),
  });
  if (!answer.ok) throw new Error(`${path}: ${answer.status} ${await answer.text()}`);
  return answer.json() as Promise<Record<string, Attempts>>;
}

const [, , role = "", slug = ""] = process.argv;
if (import.meta.main && role === "worker") {
  listen();
  const addresses = Object.values(networkInterfaces()).flatMap(
    (each) => each?.map(({ address }) => address) ?? [],
  );
  const outcomes = await attemptAll(await asModel("meet", { slug, addresses, token: doorToken() }));
  writeFileSync("results.json", JSON.stringify(outcomes, null, 1));
  await asModel("done", { slug });
  process.exit(0);
} else if (import.meta.main && role === "control") {
  const outcomes = await attemptAll(JSON.parse(readFileSync(0, "utf8")));
  process.stdout.write(`${JSON.stringify(outcomes)}\n`, () => process.exit(0));
} else if (import.meta.main && role === "listen") listen();
