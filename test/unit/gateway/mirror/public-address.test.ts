import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { isPublicAddress } from "../../../../gateway/mirror/public-address.ts";

const closed = `
0.0.0.0 0.1.2.3 10.0.0.1 10.255.255.255 100.64.0.1 100.100.100.200 100.127.255.255 127.0.0.1 127.255.255.254
169.254.169.254 169.254.170.2 172.16.0.1 172.17.0.1 172.31.255.255 192.0.0.1 192.0.0.192 192.0.2.1 192.88.99.1 192.168.0.1
198.18.0.1 198.19.255.255 198.51.100.1 203.0.113.1 224.0.0.1 239.255.255.255 240.0.0.1 255.255.255.255 168.63.129.16
:: ::1 ::127.0.0.1 ::8.8.8.8 fc00::1 fd00:ec2::254 fe80::1 fe80::1%eth0 2606:4700::1111%eth0 fec0::1 ff02::1 100::1
::ffff:127.0.0.1 ::ffff:7f00:1 0:0:0:0:0:ffff:10.0.0.1 ::FFFF:169.254.169.254 ::ffff:0:127.0.0.1
64:ff9b::127.0.0.1 64:ff9b::a9fe:a9fe 64:ff9b:1::8.8.8.8 64:ff9b:1::1
2002:7f00:1:: 2002:a9fe:a9fe::1 2001:0:4136:e378:8000:63bf:3fff:fdd2 2001::1 2001:2::1 2001:10::1 2001:db8::1 3fff::1
5f00::1 4000::1
`;
const open =
  "1.1.1.1 8.8.8.8 93.184.215.14 100.63.255.255 100.128.0.1 172.15.0.1 172.32.0.1 192.0.1.1 192.167.1.1 " +
  "198.17.0.1 198.20.0.1 223.255.255.255 168.63.129.17 2606:4700::1111 2a00:1450:4001:82b::200e 2001:4860:4860::8888 " +
  "2600:1f18::1 ::ffff:8.8.8.8 64:ff9b::8.8.8.8";
const notAddresses = [
  "",
  " ",
  "localhost",
  "127.1",
  "0177.0.0.1",
  "0x7f000001",
  "2130706433",
  "[::1]",
  "1.1.1.1 ",
  "8.8.8.8/32",
];

describe("an address on the internet", () => {
  test.each(closed.trim().split(/\s+/))("%s is none", (address) => {
    expect(isPublicAddress(address)).toBe(false);
  });

  test.each(open.split(" "))("%s is one", (address) => {
    expect(isPublicAddress(address)).toBe(true);
  });

  test.each(notAddresses)("%j is not even an address", (text) => {
    expect(isPublicAddress(text)).toBe(false);
  });

  test("is judged alike in every spelling of an IPv4 address within another", () => {
    const byte = fc.integer({ min: 0, max: 255 });
    fc.assert(
      fc.property(fc.tuple(byte, byte, byte, byte), ([a, b, c, d]) => {
        const plain = `${a}.${b}.${c}.${d}`;
        const groups = `${((a << 8) | b).toString(16)}:${((c << 8) | d).toString(16)}`;
        const spellings = [
          `::ffff:${plain}`,
          `::ffff:${groups}`,
          `64:ff9b::${plain}`,
          `64:ff9b:0:0:0:0:${groups}`,
        ];

        expect(spellings.map(isPublicAddress)).toEqual(spellings.map(() => isPublicAddress(plain)));
      }),
    );
  });

  test("is never one in a network that is closed", () => {
    fc.assert(
      fc.property(fc.ipV6(), (address) => {
        const first = Number.parseInt(
          new URL(`http://[${address}]/`).hostname.slice(1).split(":")[0] || "0",
          16,
        );
        if (isPublicAddress(address)) expect(first === 0x64 || first === 0 || first >> 13 === 1).toBe(true);
      }),
      { numRuns: 1_000 },
    );
  });
});
