import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { defaultRegistryUrls, egressPresets, parseAllowList } from "../../../src/egress/allow-list.ts";

describe("what --allow opens", () => {
  test("is a host at the port of https, or at the one that is named", () => {
    expect(parseAllowList(["Example.com", "a-1.b.example:8443", "xn--bcher-kva.example"])).toEqual({
      hosts: [
        { host: "example.com", port: 443 },
        { host: "a-1.b.example", port: 8443 },
        { host: "xn--bcher-kva.example", port: 443 },
      ],
      mirrors: [],
      problems: [],
    });
  });

  test("is each thing once, however often it is named", () => {
    const { hosts, mirrors } = parseAllowList(["pypi", "PyPI.org:443", "npm", "npm", "pypi"]);

    expect(hosts.map(({ host }) => host)).toEqual(["pypi.org", "files.pythonhosted.org"]);
    expect(mirrors).toEqual(["npm"]);
  });

  test("is read through a mirror where there is one, and never a host that takes uploads", () => {
    const { hosts, mirrors } = parseAllowList(Object.keys(egressPresets));
    const names = hosts.map(({ host }) => host);

    expect(mirrors).toEqual(["npm", "go", "github"]);
    expect(mirrors.filter((name) => !Object.hasOwn(defaultRegistryUrls, name))).toEqual([]);
    expect(names).not.toContain("github.com");
    expect(names).not.toContain("registry.npmjs.org");
    expect(names).not.toContain("upload.pypi.org");
    expect(hosts.every(({ port }) => port === 443)).toBe(true);
  });

  test("can be said again by every host of a preset", () => {
    const { hosts } = parseAllowList(Object.keys(egressPresets));

    expect(parseAllowList(hosts.map(({ host, port }) => `${host}:${port}`)).hosts).toEqual(hosts);
  });

  test.each([
    ["an IPv4 address", "127.0.0.1"],
    ["one with a port", "93.184.215.14:443"],
    ["one in decimal", "2130706433"],
    ["one in octal", "0177.0.0.1"],
    ["one in hexadecimal", "0x7f000001"],
    ["one in hexadecimal parts", "0x7f.0x0.0x0.0x1"],
    ["one of two parts", "127.1"],
    ["one whose last part is hexadecimal", "1.0x7f"],
    ["one with a zero in front", "192.168.010.1"],
    ["an IPv6 address in brackets", "[::1]:443"],
    ["one without brackets", "::1"],
    ["one that holds another", "[::ffff:127.0.0.1]"],
    ["a name that ends in a number", "example.1"],
    ["a wildcard", "*.example.com"],
    ["a wildcard in the middle", "a.*.example"],
    ["a dot at the end", "example.com."],
    ["a dot at the end before a port", "example.com.:443"],
    ["a dot in front", ".example.com"],
    ["two dots", "example..com"],
    ["a name of one label", "localhost"],
    ["a preset in capitals", "NPM"],
    ["a name of the prototype", "constructor"],
    ["another one", "__proto__"],
    ["a scheme", "https://example.com"],
    ["a path", "example.com/path"],
    ["a user", "me@example.com"],
    ["a space", "example.com evil.example"],
    ["a line break", "example.com\nevil.example"],
    ["a NUL", "example.com\0"],
    ["letters that look like others", "ex\u0430mple.com"],
    ["a dot of another script", "example\u3002com"],
    ["a letter that becomes an ASCII one in lower case", "\u212Aernel.org"],
    ["a hyphen in front", "-example.com"],
    ["a hyphen at a label's end", "example-.com"],
    ["an underscore", "_dmarc.example.com"],
    ["a label that is too long", `${"a".repeat(64)}.example`],
    ["a name that is too long", `${"a.".repeat(127)}example`],
    ["port 0", "example.com:0"],
    ["a port that is too large", "example.com:65536"],
    ["a port with a sign", "example.com:+443"],
    ["a port with a zero in front", "example.com:0443"],
    ["no port after a colon", "example.com:"],
    ["nothing", ""],
  ])("%s is a problem, and opens nothing", (_what, word) => {
    const { hosts, mirrors, problems } = parseAllowList([word]);

    expect({ hosts, mirrors }).toEqual({ hosts: [], mirrors: [] });
    expect(problems).toEqual([{ word, problem: expect.stringMatching(/./) }]);
  });

  test("never is anything that the parser of addresses takes for another host", () => {
    const word = fc.stringMatching(/^[0-9a-fxA-FX.:[\]%@*-]{1,30}$/);
    fc.assert(
      fc.property(fc.oneof(word, fc.string(), fc.ipV4(), fc.ipV4Extended(), fc.ipV6()), (text) => {
        for (const { host, port } of parseAllowList([text]).hosts) {
          const url = new URL(`http://${host}:${port}/`);
          expect(url.hostname).toBe(host);
          expect(host).not.toMatch(/^[\d.]+$/);
        }
      }),
      { numRuns: 2_000 },
    );
  });
});
