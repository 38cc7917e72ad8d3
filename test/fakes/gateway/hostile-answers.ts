import { brotliCompressSync, deflateSync, gzipSync, zstdCompressSync } from "node:zlib";
import { messageOf, realKey } from "./gateway.ts";

/** What a model's API says on the line when it is not what it should be. */
export interface HostileAnswer {
  readonly name: string;
  readonly pieces: readonly (string | Uint8Array)[];
  /** Whether it hangs up afterwards. */
  readonly isLast: boolean;
}

const json = "content-type: application/json";

function answer(body: string | Uint8Array, ...headers: readonly string[]): (string | Uint8Array)[] {
  const bytes = Buffer.from(body);
  return [
    ["HTTP/1.1 200 OK", json, `content-length: ${bytes.length}`, ...headers, "", ""].join("\r\n"),
    bytes,
  ];
}

const told = messageOf(3, 4);
const echo = `{"a":"${realKey}","usage":{}}`;

/** Every kind of number that none is. */
const amounts = [
  ...[
    "-1",
    "1e308",
    '"12"',
    '"NaN"',
    "null",
    "true",
    "{}",
    "[]",
    "9007199254740993",
    "1e999",
    "0.5",
    "-0",
    "NaN",
  ],
  ...[
    '"-5"',
    '"1e3"',
    "[5]",
    '{"valueOf":1}',
    "00012",
    '"\\u0031"',
    "Infinity",
    "-1e-400",
    '""',
    "123456789012345678901",
  ],
];

function usages(): HostileAnswer[] {
  return amounts.flatMap((amount) =>
    [
      `{"type":"message","model":"m","usage":{"input_tokens":${amount},"output_tokens":4}}`,
      `{"type":"message","model":"m","usage":{"input_tokens":3,"output_tokens":${amount},"__proto__":{"a":1}}}`,
      `{"type":"message","model":"m","usage":{"input_tokens":1,"output_tokens":1,"cache_read_input_tokens":${amount}}}`,
      `{"type":"message","model":"m","usage":{"input_tokens":1,"output_tokens":1,"server_tool_use":{"web_search_requests":${amount}}}}`,
      `{"type":"message","model":${amount},"usage":${amount}}`,
    ].map((body) => ({ name: `usage of ${amount}`, pieces: answer(body), isLast: false })),
  );
}

function echoes(): HostileAnswer[] {
  const splits = Array.from({ length: realKey.length - 1 }, (_unused, at) => ({
    name: `the key in two after ${at + 1}`,
    pieces: [
      `HTTP/1.1 200 OK\r\n${json}\r\ncontent-length: ${realKey.length}\r\n\r\n${realKey.slice(0, at + 1)}`,
      realKey.slice(at + 1),
    ],
    isLast: false,
  }));
  const each = Array.from(realKey, (letter) => `1\r\n${letter}\r\n`);
  const packed: readonly (readonly [string, Uint8Array])[] = [
    ...([
      ["gzip", gzipSync(echo)],
      ["x-gzip", gzipSync(echo)],
      ["deflate", deflateSync(echo)],
      ["br", brotliCompressSync(echo)],
      ["zstd", zstdCompressSync(echo)],
      ["GZIP", gzipSync(echo)],
      ["gzip, gzip", gzipSync(gzipSync(echo))],
      ["rot13", Buffer.from(echo)],
      ["gzip", gzipSync(echo).subarray(0, 20)],
      ["gzip", Buffer.from(echo)],
      ["identity", Buffer.from(echo)],
      ["gzip", Buffer.concat([gzipSync("a"), gzipSync(echo)])],
      ["gzip", gzipSync(Buffer.alloc(1 << 20, echo))],
    ] as const),
  ];
  return [
    ...splits,
    {
      name: "the key letter by letter in chunks",
      pieces: [`HTTP/1.1 200 OK\r\n${json}\r\ntransfer-encoding: chunked\r\n\r\n`, ...each, "0\r\n\r\n"],
      isLast: false,
    },
    ...packed.map(([coding, bytes]) => ({
      name: `the key in ${coding}`,
      pieces: answer(bytes, `content-encoding: ${coding}`),
      isLast: false,
    })),
    ...["gzip, chunked", "chunked, chunked", "gzip"].map((coding) => ({
      name: `the key in a transfer of ${coding}`,
      pieces: [
        `HTTP/1.1 200 OK\r\n${json}\r\ntransfer-encoding: ${coding}\r\n\r\n`,
        Buffer.concat([
          Buffer.from(`${gzipSync(echo).length.toString(16)}\r\n`),
          gzipSync(echo),
          Buffer.from("\r\n0\r\n\r\n"),
        ]),
      ],
      isLast: true,
    })),
    ...[
      ...[`x-echo: ${realKey}`, `${realKey}: x`, `set-cookie: a=${realKey}`, `location: /?key=${realKey}`],
      ...[
        `x-a: a${realKey}b\r\nx-a: ${realKey}${realKey}`,
        `www-authenticate: ${realKey}`,
        `__proto__: ${realKey}`,
      ],
    ].map((line) => ({ name: `a header ${line}`, pieces: answer(told, line), isLast: false })),
    {
      name: "the key in the status, a trailer and an extension",
      pieces: [
        `HTTP/1.1 200 ${realKey}\r\n${json}\r\ntrailer: x\r\ntransfer-encoding: chunked\r\n\r\n`,
        `${told.length.toString(16)};a=${realKey}\r\n${told}\r\n0\r\nx: ${realKey}\r\n\r\n`,
      ],
      isLast: false,
    },
    {
      name: "the key in an announcement",
      pieces: [`HTTP/1.1 103 Early\r\nlink: ${realKey}\r\n\r\n`, ...answer(told)],
      isLast: false,
    },
  ];
}

function shapes(): HostileAnswer[] {
  const whole = (name: string, ...pieces: readonly (string | Uint8Array)[]): HostileAnswer => ({
    name,
    pieces,
    isLast: true,
  });
  return [
    ...[301, 302, 303, 307, 308].map((status) =>
      whole(
        `a redirect ${status}`,
        `HTTP/1.1 ${status} Go\r\nlocation: http://evil.example/${realKey}\r\ncontent-length: 0\r\n\r\n`,
      ),
    ),
    ...[
      "099",
      "000",
      "999",
      "700",
      "600",
      "1000",
      "2",
      "-20",
      "2e2",
      "101",
      "204",
      "205",
      "304",
      "401",
      "402",
      "418",
    ].map((status) => whole(`a status of ${status}`, `HTTP/1.1 ${status} Odd\r\ncontent-length: 0\r\n\r\n`)),
    whole("a hundred announcements", "HTTP/1.1 100 Continue\r\n\r\n".repeat(100), ...answer(told)),
    whole("only announcements", "HTTP/1.1 102 Processing\r\n\r\n".repeat(5)),
    whole(
      "another protocol",
      "HTTP/1.1 101 Switching Protocols\r\nupgrade: websocket\r\nconnection: upgrade\r\n\r\nhello",
    ),
    whole("headers of 40 KB", `HTTP/1.1 200 OK\r\nx: ${"a".repeat(40_000)}\r\n\r\n`),
    whole("3 000 headers", `HTTP/1.1 200 OK\r\n${"a: b\r\n".repeat(3_000)}content-length: 2\r\n\r\n{}`),
    whole("less than announced", "HTTP/1.1 200 OK\r\ncontent-length: 1000\r\n\r\n{"),
    whole("more than announced", "HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}{}{}{}"),
    whole("two lengths", "HTTP/1.1 200 OK\r\ncontent-length: 2\r\ncontent-length: 3\r\n\r\n{}{"),
    whole(
      "a length and chunks",
      "HTTP/1.1 200 OK\r\ncontent-length: 2\r\ntransfer-encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n",
    ),
    whole("two answers", ...answer(told), ...answer(told)),
    whole("no length", `HTTP/1.1 200 OK\r\n${json}\r\n\r\n${told}`),
    whole("HTTP/1.0", `HTTP/1.0 200 OK\r\n\r\n${told}`),
    whole("HTTP/0.9", told),
    whole("nothing"),
    whole("garbage", Buffer.alloc(100, 7)),
    whole("a broken chunk", "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nzz\r\n"),
    whole("a line break in a header", "HTTP/1.1 200 OK\r\nx: a\rb\r\ncontent-length: 0\r\n\r\n"),
    whole("a zero in a header", "HTTP/1.1 200 OK\r\nx: a\u0000b\r\ncontent-length: 0\r\n\r\n"),
    whole(
      "letters of another century in a header",
      "HTTP/1.1 200 OK\r\nx: \u00ff\u0080\r\ncontent-length: 2\r\n\r\n{}",
    ),
    ...['"\\n\\u001b[31m"', `"${"m".repeat(5_000)}"`, '"\\ud800"', '"__proto__"', "{}"].map((model) =>
      whole(
        `a model ${model.slice(0, 20)}`,
        ...answer(`{"type":"message","model":${model},"usage":{"input_tokens":1,"output_tokens":1}}`),
      ),
    ),
    whole("deep nesting", ...answer("[".repeat(100_000))),
    whole("usage in a string", ...answer('{"type":"message","a":"\\"usage\\":{\\"output_tokens\\":0}}"}')),
  ];
}

export const hostileAnswers: readonly HostileAnswer[] = [...usages(), ...echoes(), ...shapes()];
