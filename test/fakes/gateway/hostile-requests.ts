import fc from "fast-check";
import { workerToken } from "./gateway.ts";

/** A conversation that tries to get more than it may. */
export interface HostileRequest {
  readonly name: string;
  readonly pieces: readonly (string | Uint8Array)[];
  /** What may reach the model: nothing, what the worker may ask for, or nobody can tell. */
  readonly reaches: "nothing" | "one" | "counted";
}

const token = workerToken("one");
const key = `x-api-key: ${token}`;
const body = '{"model":"m","max_tokens":5}';

export interface Head {
  readonly method?: string;
  readonly target?: string;
  readonly version?: string;
  readonly headers?: readonly string[];
}

/** A request as it should be, but for what is changed. */
export function head({
  method = "POST",
  target = "/m/anthropic/v1/messages",
  version = "HTTP/1.1",
  headers = [key, `content-length: ${body.length}`],
}: Head = {}): string {
  return [`${method} ${target} ${version}`, "host: door", ...headers, "", ""].join("\r\n");
}

export const goodRequest: string = goodCall("/m/anthropic/v1/messages");

export function goodCall(target: string): string {
  return `${head({ target })}${body}`;
}

/** What is smuggled behind or within another one: it must never arrive by itself. */
export const within: string = head({
  method: "GET",
  target: "/m/anthropic/v1/models/smuggled",
  headers: [key],
});
const chunked = `${body.length.toString(16)}\r\n${body}\r\n0\r\n\r\n`;

type Row = readonly [name: string, pieces: string | readonly (string | Uint8Array)[]];

function rows(reaches: HostileRequest["reaches"], ...list: readonly Row[]): HostileRequest[] {
  return list.map(([name, pieces]) => ({
    ...{ name, reaches },
    pieces: typeof pieces === "string" ? [pieces] : pieces,
  }));
}

const length = `content-length: ${body.length}`;
const encoded = "transfer-encoding: chunked";

/** Two readings of where a request ends. */
function smuggling(): HostileRequest[] {
  const framings: readonly (readonly string[])[] = [
    ...[
      [length, encoded],
      [encoded, length],
      ["content-length: 0", encoded],
      [length, "content-length: 0"],
      ["content-length: 0", length],
    ],
    ...[length, length].map((each) => [each, `content-length: ${body.length + within.length}`]),
    ...[
      "+5",
      "-1",
      "0x1c",
      "1e3",
      "5 5",
      "5,5",
      "5, 6",
      "",
      "99999999999999999999999",
      "٥",
      "5;a",
      "0b1",
    ].map((amount) => [`content-length: ${amount}`]),
    ...["Chunked, identity", "chunked, chunked", "xchunked", "identity", "chunked;q=1", "gzip", "cow"].map(
      (coding) => [`transfer-encoding: ${coding}`],
    ),
    ...[
      "transfer-encoding : chunked",
      "transfer-encoding\t: chunked",
      " transfer-encoding: chunked",
      "transfer-encoding:\u000bchunked",
      "transfer-encoding: \u0000chunked",
      "transfer_encoding: chunked\r\ntransfer-encoding: identity",
      "transfer-encoding: chunked\r\ntransfer-encoding: identity",
      "transfer-encoding: identity\r\ntransfer-encoding: chunked",
      "transfer-encoding:\r\n chunked",
      "x: y\ntransfer-encoding: chunked",
      "x: y\rtransfer-encoding: chunked",
      "x: y\u0000transfer-encoding: chunked",
      "content-length: 5\r\n\t0",
      "content-length:\r\n 5",
      "x: a\r\n folded: b",
      "x: a\r\n\tcontent-length: 3",
    ].map((line) => [line, length]),
  ];
  return framings.flatMap((headers) => [
    ...rows("counted", [
      `framed by ${JSON.stringify(headers)}`,
      `${head({ headers: [key, ...headers] })}${body}`,
    ]),
    ...[within, `${chunked}${within}`, `0\r\n\r\n${within}`].flatMap((rest) =>
      rows("nothing", [
        `framed by ${JSON.stringify(headers)} with another one in it`,
        `${head({ headers: ["x-api-key: wrong", ...headers] })}${rest.replaceAll(token, "wrong")}`,
      ]),
    ),
  ]);
}

function chunks(): HostileRequest[] {
  const start = head({ headers: [key, encoded] });
  const refusedStart = head({ headers: ["x-api-key: wrong", encoded] });
  const bodies = [
    ...["-1\r\nx", "0x5\r\nhello", "5 \r\nhello\r\n0\r\n\r\n", "FFFFFFFFFFFFFFFFF\r\n", "5\nhello\n0\n\n"],
    ...["5\rhello", "5;\u0000\r\nhello\r\n0\r\n\r\n", "5;a=\n\r\nhello", "5\r\nhelloX\r\n0\r\n\r\n", "g\r\n"],
    ...[`5;${"a".repeat(20_000)}\r\nhello\r\n0\r\n\r\n`, "5\r\nhello0\r\n\r\n", "\r\n5\r\nhello"],
    ...[`${"0".repeat(20_000)}\r\n\r\n`, `0\r\nx: ${"a".repeat(20_000)}\r\n\r\n`, "0\r\nx : y\r\n\r\n"],
    ...["0\r\ncontent-length: 5\r\n\r\n", "0\r\nx-api-key: other\r\n\r\n", "0\r\n\u0000: x\r\n\r\n"],
  ];
  return bodies.flatMap((each) => [
    ...rows("counted", [`in chunks like ${JSON.stringify(each.slice(0, 30))}`, `${start}${each}`]),
    ...rows("nothing", [
      `refused, in chunks like ${JSON.stringify(each.slice(0, 30))}`,
      `${refusedStart}${each}`,
    ]),
  ]);
}

const elsewhere = [
  ...["http://evil.example/v1/messages", "https://api.anthropic.com/v1/messages", "file:///etc/passwd"],
  ...["//evil.example/v1", "evil.example:443", "*", "", "?", "/", "m/anthropic/v1/messages", "http://", "/m"],
  ...["HTTP://door/m/anthropic/v1/messages", "http:/m/anthropic/v1/messages", "data:,x", "/m/anthropic"],
  ...["/m/__proto__/v1/messages", "/m/constructor/v1/messages", "/m/toString/v1", "/m/other/v1/messages"],
  ...["/m/anthropic/v1/files", "/m/anthropic/v1/organizations/me", "/m/anthropic/v1/messages/batches"],
  ...[
    "/m/anthropic/v1/messages/",
    "/m/anthropic//v1/messages",
    "/m/anthropic/./v1/messages",
    "/M/anthropic/v1",
  ],
  ...["/r/__proto__/npm/x", `/r/${token}/__proto__/x`, `/r/${token}/constructor/x`, `/r/${token}/npm/x`],
  ...[`/r/${token}/npm/../../../m`, `/r/${token}`, `/r/${token}/`, "/r//npm/x", "/r/x/y/z"],
  ...["/m/anthropic/v1/messages#a", "/m/anthropic/v1/messages;a=b", "/m/anthropic/v1/messages\\x"],
  ...[`/m/anthropic/${"a".repeat(9_000)}`, `/m/any/${"a".repeat(8_000)}`, `/${"/".repeat(5_000)}`],
  ...["/m/anthropic/v1/messages&x=y", "/m/anthropic%2fv1/messages", "/m%2fanthropic/v1/messages"],
];
const upwards = [
  ...["..", "%2e%2e", ".%2e", "%2E.", "%252e%252e", "%c0%ae%c0%ae", "%u002e%u002e", "..;", "..%00", "..%2f"],
  ...[
    "%2f..",
    "..%5c",
    "..\\",
    "%2e%2e%2f",
    "%25252e%25252e",
    "..%c0%af",
    "%e0%80%ae%e0%80%ae",
    ".%00.",
    "..#",
  ],
  ...["%00..", ". .", "..%20", "%09..", "..%ff", "%", "%2", "%zz", "%ff", "%c3", "..?", "...", "..../"],
];

function targets(): HostileRequest[] {
  const paths = upwards.flatMap((up) => [
    `/m/any/${up}/secret`,
    `/m/any/a/${up}/${up}/secret`,
    `/m/anthropic/v1/messages/${up}/admin`,
    `/m/anthropic/${up}/${up}/admin`,
    `/r/${token}/npm/${up}/${up}/secret`,
  ]);
  return [...elsewhere, ...paths].flatMap((target) =>
    ["GET", "POST"].flatMap((method) =>
      rows("nothing", [
        `${method} ${target.slice(0, 60)}`,
        head({ method, target, headers: [key, "content-length: 0"] }),
      ]),
    ),
  );
}

function methods(): HostileRequest[] {
  const names = [
    ...["TRACE", "OPTIONS", "DELETE", "PUT", "PATCH", "HEAD", "PROPFIND", "PURGE", "LINK", "SEARCH", "QUERY"],
    ...["M-SEARCH", "post", "PoSt", "P\u0000ST", "POST\t", "", "CONNECTED", "SOURCE", "MKCOL", "ACL"],
  ];
  return [
    ...names.flatMap((method) =>
      ["/m/anthropic/v1/messages", "*", "/m/anthropic/v1/models"].flatMap((target) =>
        method !== ""
          ? rows("nothing", [
              `${method} ${target}`,
              head({ method, target, headers: [key, "max-forwards: 0"] }),
            ])
          : rows("nothing", ["no method", ` ${target} HTTP/1.1\r\n\r\n`]),
      ),
    ),
    ...["GET", "HEAD"].flatMap((method) =>
      rows("nothing", [
        `${method} with a body that is a request`,
        `${head({
          ...{ method, target: "/m/anthropic/v1/models" },
          headers: [key, `content-length: ${within.length}`],
        })}${within}`,
      ]),
    ),
  ];
}

function versions(): HostileRequest[] {
  const list = ["HTTP/0.9", "HTTP/2.0", "HTTP/1.2", "HTTP/9.9", "HTTP/1", "HTTPS/1.1", "http/1.1", "ICE/1.0"];
  const hello = Buffer.from("16030100c8010000c40303", "hex");
  return [
    ...list.flatMap((version) => rows("nothing", [`spoken in ${version}`, `${head({ version })}${body}`])),
    ...rows(
      "nothing",
      [
        "HTTP/2 by its preface",
        "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\u0000\u0000\u0000\u0004\u0000\u0000\u0000\u0000\u0000",
      ],
      ["TLS", [Buffer.concat([hello, Buffer.alloc(300, 7)])]],
      ["SOCKS", [Buffer.from([5, 1, 0])]],
      ["nothing at all", ""],
      ["half a line", "POST /m/anthropic"],
      ["half a head", head().slice(0, -2)],
      ["half a body", `${head()}${body.slice(0, 9)}`],
      ["only line breaks", "\r\n".repeat(5_000)],
      ["only zeros", [Buffer.alloc(50_000)]],
      ["a request of 0.9", "GET /m/anthropic/v1/models\r\n"],
    ),
    // Read as if it were HTTP; what comes of it is counted like everything.
    ...rows("one", ["spoken in RTSP/1.0", `${head({ version: "RTSP/1.0" })}${body}`]),
    ...rows(
      "counted",
      ["HTTP/1.0", `${head({ version: "HTTP/1.0" })}${body}`],
      ["HTTP/1.0 in chunks", `${head({ version: "HTTP/1.0", headers: [key, encoded] })}${chunked}`],
    ),
  ];
}

function tokens(): HostileRequest[] {
  const places = [
    ...["x-api-key: wrong", "x-api-key:", "x-api-key: ", `x-api-key: ${token}x`, `x-api-key: x${token}`],
    ...[`x-api-key: ${token.toUpperCase()}`, "authorization: Bearer", "authorization: Basic eDp4"],
    ...[`authorization: Basic ${btoa(`x:${token}`)}`, `cookie: x-api-key=${token}`, `x-token: ${token}`],
    ...[
      `proxy-authorization: Bearer ${token}`,
      `x-api-key : ${token}`,
      `x_api_key: ${token}`,
      "__proto__: x",
    ],
    ...[
      `x-api-key: ${token}, ${token}`,
      `x-api-key: ${token}\r\nx-api-key: ${token}`,
      `referer: ?key=${token}`,
    ],
    ...[`x-api-key: ${token}\r\nauthorization: Bearer wrong`, `x-api-key: ${token}\r\nx-goog-api-key: wrong`],
    ...[`x-api-key: wrong\r\nauthorization: Bearer ${token}`, `authorization: Bearer ${token},wrong`],
    ...[`x-api-key: ${workerToken("nobody")}`, "x-api-key: __proto__", "x-api-key: constructor"],
    ...[`x-api-key: ${workerToken("__proto__")}`, `x-api-key: ${"a".repeat(15_000)}`],
  ];
  const inQuery = ["key=wrong", `k=${token}`, "key=", `xkey=${token}`, `key[]=${token}`];
  return [
    ...places.flatMap((place) =>
      rows("nothing", [place.slice(0, 60), `${head({ headers: [place, length] })}${body}`]),
    ),
    ...inQuery.flatMap((query) =>
      rows("nothing", [
        `?${query}`,
        `${head({ target: `/m/anthropic/v1/messages?${query}`, headers: [length] })}${body}`,
      ]),
    ),
    ...["key=other", "key=x&key=y", `key=${token}&key=other`].flatMap((query) =>
      rows("nothing", [
        `two tokens, one in ?${query}`,
        `${head({ target: `/m/anthropic/v1/messages?${query}` })}${body}`,
      ]),
    ),
  ];
}

function tunnels(): HostileRequest[] {
  const show = (text: string): string => `proxy-authorization: Basic ${text}`;
  const good = show(btoa(`x:${token}`));
  const authorities = [
    ...[
      "evil.example:443",
      "127.0.0.1:80",
      "[::1]:443",
      "localhost:443",
      "169.254.169.254:80",
      "*:443",
      "a:0",
    ],
    ...[
      "a:99999",
      "a:443:443",
      "a@b:443",
      "allowed.example:443@evil:1",
      "allowed.example.:443",
      "/m/anthropic",
    ],
    ...[
      "allowed.example:80",
      "allowed.example%00:443",
      "http://allowed.example:443",
      "0x7f.1:443",
      "",
      ":443",
    ],
    ...["xn--a:443", "allowed.example:443/", "allowed.example:0443", `${"a".repeat(300)}:443`],
  ];
  const shown = [
    ...["=", "====", "A", "!!!!", "", btoa("x"), btoa(":"), btoa("x:wrong"), btoa(`${token}:x`), "é"],
    ...[btoa(`x:${token}\n`), `${btoa(`x:${token}`)} x`, btoa(`x:${token}`).repeat(20)],
  ].map(show);
  return [
    ...authorities.flatMap((authority) =>
      [[good], [good, "content-length: 5"], [good, encoded], [key], []].flatMap((headers) =>
        rows("nothing", [
          `CONNECT ${authority.slice(0, 40)} with ${headers.length}`,
          `${head({ method: "CONNECT", target: authority, headers })}${within}`,
        ]),
      ),
    ),
    ...shown.flatMap((line) =>
      rows("nothing", [
        line.slice(0, 60),
        head({ method: "CONNECT", target: "evil.example:443", headers: [line] }),
      ]),
    ),
    ...rows("one", [
      "CONNECT behind a call that is under way",
      `${goodRequest}${head({ method: "CONNECT", target: "evil.example:443", headers: [good] })}`,
    ]),
  ];
}

/** Each of these is a good call with something odd in it, which must not go on. */
const oddHeaders: readonly string[] = [
  ...[
    "connection: x-api-key",
    "connection: close, x-api-key, authorization, host",
    "connection: content-length",
  ],
  ...["connection: upgrade\r\nupgrade: websocket\r\nsec-websocket-version: 13\r\nsec-websocket-key: eDp4"],
  ...[
    "connection: upgrade, http2-settings\r\nupgrade: h2c\r\nhttp2-settings: AAMAAABk",
    "te: trailers, gzip",
  ],
  ...[
    "expect: 100-continue",
    "max-forwards: 0",
    "trailer: x-api-key",
    "keep-alive: timeout=9999",
    "via: 1.1 x",
  ],
  ...["x-forwarded-for: 10.0.0.1", "forwarded: for=10.0.0.1", "x-forwarded-host: evil", "cookie: a=b"],
  ...[
    "accept-encoding: gzip, br",
    "accept-charset: utf-16",
    "range: bytes=0-3",
    "if-range: x",
    "api-key: mine",
  ],
  ...[
    "x-http-method-override: DELETE",
    "x-http-method: PUT",
    "x-method-override: PUT",
    "x-original-url: /admin",
  ],
  ...["x-rewrite-url: /admin", "proxy-connection: keep-alive", "x-goog-iam-authorization-token: mine"],
  ...[
    "__proto__: x",
    "constructor: x",
    "hasownproperty: x",
    "tostring: x",
    "valueof: x",
    "anthropic-beta: a, a",
  ],
];

/** Of an API's addresses: keys of other accounts. */
const oddQueries: readonly string[] = [
  ...[
    "%6bey=mine",
    "k%65y=mine",
    "%4bEY=mine",
    "%256bey=mine",
    "a=b;key=mine",
    "+key=mine",
    "access_token=mine",
  ],
  ...[
    "oauth_token=mine",
    "Access_Token=mine",
    "$httpMethod=DELETE",
    "api_key=mine",
    "%ff=mine",
    "%20key=mine",
  ],
];

function oddities(): HostileRequest[] {
  return [
    ...oddHeaders.flatMap((line) =>
      rows("counted", [
        `a call with ${line.slice(0, 50)}`,
        `${head({ headers: [key, length, line] })}${body}`,
      ]),
    ),
    ...oddQueries.flatMap((query) =>
      rows("one", [`?${query}`, `${head({ target: `/m/anthropic/v1/messages?beta=true&${query}` })}${body}`]),
    ),
    ...rows(
      "nothing",
      ["another expectation", `${head({ headers: [key, length, "expect: 200-ok"] })}${body}`],
      ["16 KB of a header", head({ headers: [key, `x: ${"a".repeat(17_000)}`] })],
      ["4 000 headers", head({ headers: [key, ...Array.from({ length: 4_000 }, (_, at) => `h${at}: x`)] })],
      ["no host", `GET /m/anthropic/v1/models HTTP/1.1\r\n${key}\r\n\r\n`],
      ["two hosts in a line", `GET /m/anthropic/v1/models HTTP/1.1\r\nhost: a\nhost: b\r\n${key}\r\n\r\n`],
      ["a line break in a value", head({ headers: [`x-api-key: ${token}\rx: y`, length] })],
      ["one more request for each refusal", `${head({ headers: ["x-api-key: wrong"] })}`.repeat(50)],
      [
        "one that is refused, and bytes of its body that are a request",
        [head({ headers: ["x-api-key: wrong", `content-length: ${within.length + 9}`] }), within],
      ],
    ),
    ...rows(
      "counted",
      ["ten at once on one connection", goodRequest.repeat(10)],
      [
        "a refused one and a good one behind it",
        `${head({ headers: ["x-api-key: wrong", "content-length: 0"] })}${goodRequest}`,
      ],
    ),
    ...rows("one", ["a good one and garbage behind it", `${goodRequest}\u0000\u0001garbage\r\n\r\n`]),
  ];
}

/** Those that were written by hand. */
export const writtenRequests: readonly HostileRequest[] = [
  ...smuggling(),
  ...chunks(),
  ...targets(),
  ...methods(),
  ...versions(),
  ...tokens(),
  ...tunnels(),
  ...oddities(),
];

const nastyLines = [
  ...[
    encoded,
    length,
    "content-length: 0",
    "content-length: 400",
    "transfer-encoding: identity",
    "host: evil",
  ],
  ...[
    "x-api-key: wrong",
    key,
    `authorization: Bearer ${token}`,
    "x: \u0000",
    " folded",
    "\tfolded",
    ":",
    "a",
  ],
  ...[...oddHeaders, "content-encoding: gzip", "content-encoding: br, gzip", "content-type: text/plain"],
];
const nastyBytes = [
  "\r",
  "\n",
  "\r\n",
  "\r\n\r\n",
  "\u0000",
  " ",
  "\t",
  ":",
  "\u007f",
  "ÿ",
  "%",
  "..",
  "/",
  "?",
  "#",
];

/** Good requests, spoilt in a few places. */
export const spoiltRequest: fc.Arbitrary<HostileRequest> = fc
  .record({
    start: fc.constantFrom(
      ...[goodRequest, `${head({ headers: [key, encoded] })}${chunked}`, `${goodRequest}${goodRequest}`],
      ...[head({ method: "GET", target: "/m/anthropic/v1/models", headers: [key] })],
      ...[`${head({ headers: ["x-api-key: wrong", length] })}${body}${goodRequest}`],
    ),
    changes: fc.array(
      fc.record({
        at: fc.double({ min: 0, max: 1, noNaN: true }),
        kind: fc.constantFrom("line", "byte", "cut", "twice", "smuggled", "random"),
        nastyLine: fc.constantFrom(...nastyLines),
        byte: fc.constantFrom(...nastyBytes),
        random: fc.string({
          unit: fc.integer({ min: 0, max: 255 }).map((code) => String.fromCharCode(code)),
          maxLength: 20,
        }),
      }),
      { minLength: 1, maxLength: 4 },
    ),
    cuts: fc.array(fc.double({ min: 0, max: 1, noNaN: true }), { maxLength: 3 }),
  })
  .map(({ start, changes, cuts }) => {
    const text = changes.reduce((before, { at, kind, nastyLine, byte, random }) => {
      const lines = before.split("\r\n");
      const place = Math.floor(at * before.length);
      const line = Math.floor(at * lines.length);
      const spoilt: Readonly<Record<typeof kind, string>> = {
        line: lines.toSpliced(1 + line, 0, nastyLine).join("\r\n"),
        twice: lines.toSpliced(line, 0, lines[line] ?? "").join("\r\n"),
        cut: before.slice(0, place) + before.slice(place + 3),
        smuggled: before.slice(0, place) + within.replaceAll(token, "wrong") + before.slice(place),
        byte: before.slice(0, place) + byte + before.slice(place),
        random: before.slice(0, place) + random + before.slice(place),
      };
      return spoilt[kind];
    }, start);
    const ends = cuts.map((cut) => Math.floor(cut * text.length)).toSorted((one, other) => one - other);
    const pieces = [0, ...ends].map((from, index) => text.slice(from, ends[index] ?? text.length));
    return { name: JSON.stringify(text.slice(0, 400)), pieces, reaches: "counted" as const };
  });
