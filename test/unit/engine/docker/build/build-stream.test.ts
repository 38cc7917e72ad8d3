import { brotliDecompressSync } from "node:zlib";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { readBuildStream } from "../../../../../src/engine/docker/build/build-stream.ts";
import { readBuildkitStatus } from "../../../../../src/engine/docker/build/buildkit-progress.ts";
import type { ImageBuildEvent } from "../../../../../src/engine/images.ts";

/**
 * Answers of a real engine (Docker 20.10), of both of its builders, to Dockerfiles of these steps: FROM, a RUN that writes
 * a line to each stream, COPY; the same again; one whose second RUN fails; one with two stages side by side, of which
 * `broken` fails while `beside` goes on and on.
 */
const classic = {
  good: String.raw`{"stream":"Step 1/3 : FROM aimi-test:root"}
{"stream":"\n"}
{"stream":" ---\u003e 5e3b32df1da8\n"}
{"stream":"Step 2/3 : RUN [\"/opt/aimi/node\", \"--eval\", \"console.log('built in two'); console.error('lines')\"]"}
{"stream":"\n"}
{"stream":" ---\u003e Running in 540c96d5f9fb\n"}
{"stream":"built in two\n"}
{"stream":"\u001b[91mlines\n\u001b[0m"}
{"stream":"Removing intermediate container 540c96d5f9fb\n"}
{"stream":" ---\u003e 426381400e33\n"}
{"stream":"Step 3/3 : COPY hello /hello"}
{"stream":"\n"}
{"stream":" ---\u003e dfc573aa9cea\n"}
{"aux":{"ID":"sha256:dfc573aa9cea0225d28ad0ef9c0d27bf14391d0d7e3c78e4382a4ff27bd67470"}}
{"stream":"Successfully built dfc573aa9cea\n"}
{"stream":"Successfully tagged aimi-test-record:x\n"}`,
  again: String.raw`{"stream":"Step 1/3 : FROM aimi-test:root"}
{"stream":"\n"}
{"stream":" ---\u003e 5e3b32df1da8\n"}
{"stream":"Step 2/3 : RUN [\"/opt/aimi/node\", \"--eval\", \"console.log('built in two'); console.error('lines')\"]"}
{"stream":"\n"}
{"stream":" ---\u003e Using cache\n"}
{"stream":" ---\u003e 426381400e33\n"}
{"stream":"Step 3/3 : COPY hello /hello"}
{"stream":"\n"}
{"stream":" ---\u003e Using cache\n"}
{"stream":" ---\u003e dfc573aa9cea\n"}
{"aux":{"ID":"sha256:dfc573aa9cea0225d28ad0ef9c0d27bf14391d0d7e3c78e4382a4ff27bd67470"}}
{"stream":"Successfully built dfc573aa9cea\n"}
{"stream":"Successfully tagged aimi-test-record:x\n"}`,
  failing: String.raw`{"stream":"Step 1/4 : FROM aimi-test:root"}
{"stream":"\n"}
{"stream":" ---\u003e 5e3b32df1da8\n"}
{"stream":"Step 2/4 : RUN [\"/opt/aimi/node\", \"--eval\", \"console.log('first step')\"]"}
{"stream":"\n"}
{"stream":" ---\u003e Using cache\n"}
{"stream":" ---\u003e 6a3bd7d44f1e\n"}
{"stream":"Step 3/4 : RUN [\"/opt/aimi/node\", \"--eval\", \"console.log('going'); console.error('left-pad is missing'); process.exit(7)\"]"}
{"stream":"\n"}
{"stream":" ---\u003e Running in e621a61f5bf8\n"}
{"stream":"going\n"}
{"stream":"\u001b[91mleft-pad is missing\n\u001b[0m"}
{"stream":"Removing intermediate container e621a61f5bf8\n"}
{"errorDetail":{"code":7,"message":"The command '/opt/aimi/node --eval console.log('going'); console.error('left-pad is missing'); process.exit(7)' returned a non-zero code: 7"},"error":"The command '/opt/aimi/node --eval console.log('going'); console.error('left-pad is missing'); process.exit(7)' returned a non-zero code: 7"}`,
};
/** BuildKit's traces are binary: packed here, one message in a line. */
const buildkit = {
  good: unpacked(
    [
      "G6EkIxHCxoHh21wCoM4F3hyqax1kKCfVvUHpdLYUe7+/pvK83h5YiUW4zkUfAUn+OYAtBR1X8wJhb2N6aVqBRadPiExcqmZMsM9T",
      "YmsJhjCxMSblYmPOzoW9UkHKsV61wBHqgzTWDR6iDurFWrBaL/TFAFepVtGKBaS2+t+4V37ZMNxIuFgBSPJ+Q6YvXoswyIeTgyzN",
      "tYTmKaEph2JtcByHRzMcFoDnWBTNo3kWZVscDqFoIRRFi6UW2hzkWrZlVdDEtGLw+KQ5eKhs2xA2L5UT4qBx8/qkQQg3BpsTwsGr",
      "PYNZPh+Svs38CxpSWtbe61zfLlS52iOwj+AhuUrUCfsOyGdme+bOOuEgCRO1yk6wnDi3TGiiQDVAWI/Dg3o7FkNYiuVaxliORXEY",
      "sVhKGLUYx+GIxQHWIRylDcfhgAEhd6MJZ4qxKyG7ArkO06+LBwQ3CGruVOAhWerQBbKa6/S1c89WO3vicWkB+Dgl0b0zVBwMCQ/S",
      "Lh6PcYcGnRXgAc8BmsfjGXAMqw5ruGDxCBrhOixQtGXLuQrAxhdmHVybUwEsU1va2Jryq22/6sM8OepvgWi/wz9tRMZt+Mu1DbOx",
      "NvvyU31+jXx3Oss2H4c/Lxo3/GP/bYtx2xs6mxYsYKH7znLpAc7l32KSdmiDHK6xKEeFoW3aECUEDREabWIo2rDGMg7tsBzL4fBY",
      "HnAoWywxjAUsseuDmkLzY8w30k7619tZh5/PrTFB0uzOLcOjOawFyrPEWIZwGSEO0jxHKNZQQmiuOsTYrC1GWSTApR0eAbSAY9Gk",
      "ciMORNs4KBfAbB4lHwkNJK6e/h7u8vBy0gA0BMDGpjmp7EEHn+pDlKbhlF86FvyyGcrJwQO5dHdeOGIURLvRHA5eRw/+ZpA/8gFH",
      "ALYlL1QMy8AptrDKoyyOKsfYtFQzDJRQj8W1SEgjJTdHdRo2IKZpbZ5F7JCVWkd7gVdRrWTf47/wqm5Eddx4sKYjXRMLCBeNzeaF",
      "4HLUxRQxn01gdgxEFPklLL2SNyiw0Ksk+O55LxIukCRcMVYuhn86D016MTxRStY+uXuTfN2OkbpEAdnlwi1p1qsnxLBz4RYSqxg9",
      "t+QNLkdvgSkvdxdTFn0GXX+kTV3YwdI5UwShL6KXbvZFJgNT57LcE99DC+EFbZ4dNc9BzAWywsYVpMDhsIZjWFUALg8M8mhlWYZn",
      "URybJg7F5SgxtO2aWw3DWg4a9iLymDEcioumgubLhdfhk8FDh/jkhTC4qXSa2fr36x2lmijcJFV6+kVhUz1oDh8K+xcI2ODF9Bom",
      "w2L/yjTpV8FDsSC6leJiyd0W60898Hhm/KGodIfRlrQ7GEtv7qwv1/v9QM2VM59e1GE4FFAOYwmqOCzFcGwUh/BswxKLUOhYBpDr",
      "8GyLxwHkcQzDiMNyuVRgJHild88Vlv5bDenU4aFod7+Yk7nOWX/qgcWkXxEjLgPg8FC54XQFbmcgYnuNYwX3wDnSVxKLuPfuc2mq",
      "d5370ZB0r4gLwuxPwApZbqVISREp9sqxaLX+1ANPpJz9+P/b/dSPP9e/L95HVMWLmn/+I1HKie9fXazfv0kYX+69ynCPiQ49ls3b",
      "x9Vksw9ilyOhPFmD68TOkMGQMuvja+nT8/9nnd/bU/DO/yO/fj37WX7747fP/zi///H878vL++fDT08D",
    ].join(""),
  ),
  again: unpacked(
    [
      "GwQcEZWrvYHQmcCbg65zEENl7g3K2r0cvu9rVO/59oAASaq38JPZ/dcEEyfJx1B8suWGwf1vbQUWnT4hMnDZ9MfEsYfgkf7THjaW",
      "rdHYGzDQrSUeyGtAZVHgYYBRaVkBvhVFCziWRBM7ytyafuzTJ2Rjpje3SQUFUcG0fyA8Fx+LMMjv2Dw8XFsJAgNiG64qa7jA5bBA",
      "GGKzgoyhDNiOcXg4IBYHeRiOwwJN8XAVWIq26pd4Pm7/Jzsb/xX9Tgb82qKds3H8s5edHLPj9SvniK/wN8yz/QM2c5R/ocovxFl/",
      "/6t65oJ1fn3j92sE9QO2/CAG3P9oMYhsS9hSd3/B0o0PsA3wM0ocioMMMRzGsJTNGLG4PMTYQvGwFEUhK2rU0JZSNCWOcAnLqsNF",
      "i4dlDYd1uBWNXRG0w3dhb05eHTiJbwI/YI54zmTVitXkY/ri4Y31DN7D4Jnn/roX8NZmLy6XcQhjsQJc4DpAc7lcA45h1WEND1i7",
      "K+vC47CAaaPNHlcANqfoFdamE9Rlak3pWjH+RbdZV1UnR32XIJ1z+BGG5KbdvmnDbTbWZm9e0eufO3/LzrLN7yRf2xmP+Jxk3+8H",
      "tWe0cdqexDbMrCghCthYUDWHOwuX5rAWKNcSYxnCwwhxkOY6QrGGEkLzqEOMzdpilEUCPLTDJYAWcCyaVDolQzu0rBwe898sR4Wh",
      "bdoQJQQNERptYijasMYyDu2wHMvhcFkucChbLDGMBSyx61dyHMrLmL/AZKb/CeYTymsvbOvpbK+lLTtJvoEkf0lltfySvd7EVeGF",
      "kv/+7cyTXarAlnv9J7jwXd/MXD4B4ZGy2fguNZD7uiVfPtncZP6ONasaIlgavFfbSCxCO1yWpm0hhMuxAbhcrsWyNpdheNTmUlyb",
      "h0NZXOMwNGEoZLgcIqgUVCbf/V/LOTIWJ2pcW9PvwNwcH8evYQfyErLHlsIfGDPCkqPww2sn/Xb6QNrH2j2R9lFIiMwcEkRl5dXi",
      "XH0o7RY4NU+Eb1LJLNlui3oSTTiZ58mi9MznW7qjemkSjyAFDoc1HMOqAvBwwSCXVpZlMq440Q7KgoejQ9sWoDNO039twVB9C4hl",
      "OJz6RXL22eO7tO31X2fOtm/A65/oOgOX+75L/jNXeWaIOyI09oviV9zrbJYKBDMpjb+fT+XyDJv5nt0rtCiRz639IH2+mASktO/G",
      "W6ZiutzBAuwe2zyGIeowHAooh7EEVRyWYjg2ikO4tmGJRSh0LAPI43Bti8sB5HIMw4jD8vBAonbMjG4ziSi49mK/Qo7A5ja2GVCR",
      "W2kY3HJACpt3JmpMDlyBRYmaFEO6Ln4MlZaipvIXZIWLpUyLju29R8rD5rJhI2QtDd4To+QYcPL3kuDTj/6/5KGPz/739E1dTlJF",
      "+/mH4WBjb87P1/dnI9GzzOVCXQI4sMRCO2qiQGoU7fRJRqhlPnTVTtswdIOLRM218PD8/5rorT3kfuIPe3qqPLaXj5eTe6GRkx+E",
      "1u3P7afDAA==",
    ].join(""),
  ),
  parallel: unpacked(
    [
      "G/4mUdTowUoCoSMhOxe5c6wM6h/q+eLalx+jZvGAXpIGuqDUqRRyhO6DiQuLP0PxyJY3DPba3+rq+//vVX2UBRTNCY4JsikYDGAw",
      "+76fsbqXfu3a73Vvq9Z6aqXGaxENViTUU8FqT33SGtYCllJrgKvSU7KKfZCamFvaAS9+tdlFZipGWt+Q9sXHIgzyIYyNXNawFohF",
      "sSxto4hNKNtBoTgUoS0ucWyjPDzENjws1wHbprmWw1FiKNbhUvVJmz+7/7c5G/9LfmcFfi3Jztk4/qxtTo7Z8fq15Yj5qjkHE94O",
      "pK++/AsaJyZi7djly2GEipHbR0EOZAwQBvMLZ3+eecbGbPjgrYrs7jWbwl7R9raeRoH9OsdYQDssLlxiLofmEMK11RiWh7UJw2Et",
      "22F5lDaO2hwey+FyOBwe1jjoCHJs29i2VDiWgVOK72JvTl4eQOKHwD/kH+FJEGq1366pzAGsbz02NZLzl633dnrq+XyBsR2mc3CD",
      "y2UcwlisABe4DtBcLteAY1h1WMMDFpegER6HBYq2bNerAGxa0SysTUeIl6kpLcMq8JfYxkJQI0d9l1E3Kf7VjHIcdt+U02421mZv",
      "Xsnrz57fNmfZ5rPsa23LB7NdvN+qHbxo5oy/new/FDn4c/32T+b95dQhjgriIZHs0Ab/J45FOSoMbdOGKCFoiNBoE0PRhjWWcWiH",
      "5VgOh8tygUPZYolhLGCJXR94/uSNr0P1f0DlhecXtJN+e6G2I+fzEgoC3EPqqkgjxTZcYCQsy4JhWIYWjqGVEcaxRBmWgEUo4LEs",
      "xuIABymuUdsiwqkwRTRrD2fx2g7xcqiTmf4fzF84r7XYBp993VZtask3SAKagKz1m+S2i7Pd+iNaT1SJPLn82Iqve8XXqea/09Lz",
      "ZF1fdcnxdcdz8w0oDic3md/Jx09YzfWGuTxKozos2sDQHIZ1KB6Ky1g2axxbKRY4lsXlcLiMCnAtmxHgiGUhx9hq86CDdL1EHVL5",
      "JGesbFuukx8sfiLkyDT9Dubm5JelbXxdLHHtlNdw/AoOTtiazueKWKTPeAztOBwLiMMyStFch4vCIE0QLICaVcSn1AxrbItDO0Ai",
      "i+iPvTYpkt3IIojFep8tg3z21L94urbm6ru6/S/K8ZsH+2cCwExI4rt8Wrd+Vd3Ob2HZOd4lx599Wbz+17O5/AV7Nr6Ksyz5r+7j",
      "3c4DufvLDGjGhHD/arZaxHY4jsUaoBRoSri0LTwsxRBjLORhDc0CEoamWFCxLcIyPIQlqMA6PMBTMWrnX6VovGX0F3mSK+SFx/ct",
      "5qDxJ/IopxPpI7MIqEtsKOHl1jtuGwCEncM10+aSUvDCq3hiiEWQsd89N1fLRnQga0/0EKTgZyd35jDig9LkNy/mHJ+MdIkMBVOA",
      "mBF9/jwi++ZLn7lG74Mo+x8zPHKTq2uvig7INVNTiQSnMzl4cjbEy0BtmqgIuXTAxoK8L5vJpDDluMX4IpVp63OMNTIhkjFBph6m",
      "Jq7erJwZZkbWbZpaYzi72rbdkTBLgfo3FrMSri3MRGijS5JRqAYmvQEZRSJTRbYLcnU4H5pyrIygP1oZEV1Gf9wddBbnvtPL/vZJ",
      "RFxy3QxIQiQwYXpwyMWqj8v1ml3My2JT+3C5Pp/78ofrU1XwZTPb1wVW+U728cOv3/8/5JcfXz6s3Fv07t1qwv3vEEXtq/P5ZivU",
      "7vOyrh6+f2TRF2uKtXz3O9f55d9+eWtfvHrcnSzc5LSk8urbsyleeTjTYPvyhodTrnOYDr6Aui96AA==",
    ].join(""),
  ),
};

function unpacked(text: string): string {
  return brotliDecompressSync(Buffer.from(text, "base64"))
    .toString()
    .split("\n")
    .map((line) =>
      /^[0-9a-f]+$/.test(line)
        ? JSON.stringify({ id: "moby.buildkit.trace", aux: Buffer.from(line, "hex").toString("base64") })
        : line,
    )
    .join("\n");
}

interface Read {
  readonly id: string | null;
  readonly failure: unknown;
  readonly events: readonly ImageBuildEvent[];
}

async function* pieces(text: string, length: number): AsyncGenerator<Uint8Array> {
  const bytes = Buffer.from(text);
  for (let at = 0; at < bytes.length; at += length) yield bytes.subarray(at, at + length);
}

async function read(answer: string | AsyncIterable<Uint8Array>, length = 1_000_000): Promise<Read> {
  const events: ImageBuildEvent[] = [];
  const stream = typeof answer === "string" ? pieces(answer, length) : answer;
  try {
    const id = await readBuildStream(stream, "the image", (event) => events.push(event));
    return { id, failure: null, events };
  } catch (failure) {
    return { id: null, failure, events };
  }
}

/** Steps in few words, as somebody sees them. */
function told(events: readonly ImageBuildEvent[]): string[] {
  return events.map((event) => {
    if (event.kind === "output") return `> ${event.text}`;
    const instruction = /\b(?:FROM|RUN|COPY)\b/.exec(event.step)?.[0] ?? event.step;
    return `${event.kind}${event.kind === "done" && event.cached ? " (cached)" : ""} ${instruction}`;
  });
}

const stepsOf = ({ events }: Read): string[] => told(events).filter((line) => !line.startsWith(">"));

/** Times of this machine are no part of what is told. */
const withoutTimes = ({ id, events, failure }: Read) => ({
  ...{ id, failure },
  events: events.map((event) => ({ ...event, ms: 0 })),
});

function detailsOf(failure: unknown): { readonly step: string; readonly lines: string[] } {
  const { step, reason } = (failure as { details: { step: string; reason: string } }).details;
  return { step, lines: reason.split("\n") };
}

describe("the answer of a build", () => {
  test("of the classic builder tells its steps, what they write, and the image", async () => {
    const { id, events, failure } = await read(classic.good);

    expect(failure).toBeNull();
    expect(id).toMatch(/^sha256:[0-9a-f]{64}$/);
    expect(told(events)).toEqual([
      ...["started FROM", "done FROM", "started RUN", "> built in two\n", "> \u001b[91mlines\n\u001b[0m"],
      ...["done RUN", "started COPY", "done COPY"],
    ]);
  });

  test("of BuildKit tells the same, with the builder's own times", async () => {
    const found = await read(buildkit.good);

    expect(found.failure).toBeNull();
    expect(found.id).toMatch(/^sha256:[0-9a-f]{64}$/);
    expect(stepsOf(found)).toEqual([
      ...["done (cached) FROM", "started RUN", "done RUN", "started COPY", "done COPY"],
    ]);
    const output = found.events.flatMap((event) => (event.kind === "output" ? [event.text] : []));
    expect(output.join("").split("\n").sort()).toEqual(["", "built in two", "lines"]);
    const times = found.events.flatMap((event) => (event.kind === "done" ? [event.ms] : []));
    expect(times.every((ms) => ms >= 0 && ms < 10_000)).toBe(true);
    expect(Math.max(...times)).toBeGreaterThan(10);
  });

  test.each([
    ["the classic builder", classic.again],
    ["BuildKit", buildkit.again],
  ])("of %s says which steps were there already", async (_name, answer) => {
    const done = stepsOf(await read(answer)).filter((line) => line.startsWith("done"));

    expect(done).toEqual(["done FROM", "done (cached) RUN", "done (cached) COPY"]);
  });

  test("is understood the same wherever it is cut on the way", async () => {
    for (const answer of [...Object.values(classic), ...Object.values(buildkit)]) {
      const whole = withoutTimes(await read(answer));
      for (const length of [1, 2, 7, 100, 999])
        expect(withoutTimes(await read(answer, length))).toEqual(whole);
    }
    const foreign = `${JSON.stringify({ stream: "größer als 🐳\n" })}\n${classic.good}`;
    expect(told((await read(foreign, 1)).events)).toContain("> größer als 🐳\n");
  });
});

describe("a build that fails", () => {
  test("names its step and its last words, without colours and without what another step wrote", async () => {
    const { failure } = await read(classic.failing);

    expect(failure).toMatchObject({ code: "IMAGE_BUILD_FAILED", exitCode: 3 });
    const { step, lines } = detailsOf(failure);
    expect(step).toMatch(/^RUN .*process\.exit\(7\)/);
    expect(lines[0]).toContain("non-zero code: 7");
    expect(lines.slice(1)).toEqual(["going", "left-pad is missing"]);
  });

  test("names the step that failed, and none of those that were ended with it", async () => {
    // What ran beside it is told as failed too, and later.
    const failed = buildkit.parallel
      .split("\n")
      .filter((line) => line.includes("moby.buildkit.trace"))
      .flatMap((line) => readBuildkitStatus(JSON.parse(line).aux).vertices)
      .filter(({ error }) => error);
    expect(failed.map(({ name }) => name.slice(0, 7))).toEqual(["[broken", "[beside"]);

    const { failure } = await read(buildkit.parallel);

    expect(failure).toMatchObject({ code: "IMAGE_BUILD_FAILED" });
    const { step, lines } = detailsOf(failure);
    expect(step).toMatch(/^\[broken 2\/2\] RUN/);
    expect(lines[0]).toContain("exit code: 3");
    expect(lines.slice(1)).toEqual(["left-pad is missing"]);
  });

  test("before it has a step says why", async () => {
    const { failure } = await read('{"error":"failed to solve: unknown instruction: RUM"}');

    expect(failure).toMatchObject({
      code: "IMAGE_BUILD_FAILED",
      message: expect.stringContaining("unknown instruction: RUM"),
    });
  });

  test("is told in bounded words, however much was written", async () => {
    const flood = `${JSON.stringify({ stream: `${"x".repeat(1_000)}\n` })}\n`.repeat(3_000);
    const { failure } = await read(`{"stream":"Step 1/1 : RUN flood"}\n${flood}{"error":"it broke"}`);

    const { lines } = detailsOf(failure);
    expect(lines[0]).toBe("it broke");
    expect(lines.join("\n").length).toBeLessThanOrEqual(4_000);
    expect((failure as Error).message.length).toBeLessThan(5_000);
  });

  test.each([
    ["an empty answer", ""],
    ["an answer that ends before it names an image", classic.good.split('{"aux"')[0] ?? ""],
  ])("%s is a failure", async (_name, answer) => {
    expect((await read(answer)).failure).toMatchObject({
      code: "IMAGE_BUILD_FAILED",
      message: expect.stringContaining("reported no image id"),
    });
  });
});

describe("garbage in the answer of a build", () => {
  const garbage = [
    ...["null", "7", '"text"', "[]", "[null]", "{", "<html>", "\u0000", "   ", "{}"],
    ...['{"aux":null}', '{"aux":7}', '{"aux":{"ID":""}}', '{"stream":null}', '{"stream":{}}'],
    ...['{"id":"moby.buildkit.trace"}', '{"id":"moby.buildkit.trace","aux":"???"}'],
    ...['{"id":"moby.buildkit.trace","aux":{"a":1}}', '{"id":"moby.buildkit.trace","aux":null}'],
    '{"id":"moby.buildkit.trace","aux":"/////////////////////w=="}',
  ];

  test("between its messages changes nothing in what is understood", async () => {
    for (const answer of [...Object.values(classic), ...Object.values(buildkit)]) {
      const lines = answer.split("\n").flatMap((line) => [...garbage, line]);
      const [clean, mixed] = [await read(answer), await read(lines.join("\n"))];

      expect(mixed.id).toBe(clean.id);
      expect((mixed.failure as Error | null)?.name).toBe((clean.failure as Error | null)?.name);
      expect(stepsOf(mixed)).toEqual(stepsOf(clean));
    }
  });

  test("any bytes as a trace are read to their end, and are never an error", () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 200 }), (bytes) => {
        const { vertices, logs } = readBuildkitStatus(Buffer.from(bytes).toString("base64"));

        expect(vertices.length + logs.length).toBeLessThanOrEqual(bytes.length);
      }),
    );
  });

  test("a line beyond all measure is passed over, at the cost of reading it once", async () => {
    async function* answer(): AsyncGenerator<Uint8Array> {
      for (let sent = 0; sent < 500; sent += 1) yield Buffer.alloc(64 * 1024, "x");
      yield Buffer.from(`\n${classic.good}`);
    }

    expect((await read(answer())).id).toBe((await read(classic.good)).id);
  });
});
