import { posix } from "node:path";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { resolveContainerPath } from "../../../src/engine/rules/container-path.ts";

const below = { absolute: false };
const absolute = { absolute: true };

describe("a path in a container", () => {
  test.each([
    ["notes.txt", "/workspace/notes.txt"],
    ["/notes.txt", "/workspace/notes.txt"],
    ["./a//b/./c/", "/workspace/a/b/c"],
    ["a/../b", "/workspace/b"],
    [".", "/workspace"],
    ["", "/workspace"],
    ["/", "/workspace"],
    ["/workspace/x", "/workspace/workspace/x"],
    ["/etc/passwd", "/workspace/etc/passwd"],
    // Not one of these means anything but a name.
    ["~/x", "/workspace/~/x"],
    ["$HOME", "/workspace/$HOME"],
    ["-rf", "/workspace/-rf"],
    ["--output=/etc/passwd", "/workspace/--output=/etc/passwd"],
    ["$(touch x); `id` && 'a' \"b\" | c", "/workspace/$(touch x); `id` && 'a' \"b\" | c"],
    ["two\nlines", "/workspace/two\nlines"],
    ["..\\..\\x", "/workspace/..\\..\\x"],
    ["...", "/workspace/..."],
    ["..a/b..", "/workspace/..a/b.."],
    ["%2e%2e/x", "/workspace/%2e%2e/x"],
    ["．．/x", "/workspace/．．/x"],
    ["C:\\x", "/workspace/C:\\x"],
    ["file:///etc/passwd", "/workspace/file:/etc/passwd"],
  ])("%j lies below the working folder", (path, expected) => {
    expect(resolveContainerPath("/workspace", path, below)).toBe(expected);
  });

  test.each([
    ["/etc/passwd", "/etc/passwd"],
    ["/a/./b/../c//", "/a/c"],
    ["/", "/"],
    ["/a/..", "/"],
  ])("%j is the container's own when it is said to be absolute", (path, expected) => {
    expect(resolveContainerPath("/workspace", path, absolute)).toBe(expected);
  });

  test.each([
    ["/", "x", "/x"],
    ["/", "", "/"],
    ["/work/", "x", "/work/x"],
    ["/work///", "", "/work"],
  ])("from the working folder %j, %j is %j", (workdir, path, expected) => {
    expect(resolveContainerPath(workdir, path, below)).toBe(expected);
  });

  test.each([
    ["..", below],
    ["../etc/passwd", below],
    ["/../etc/passwd", below],
    ["a/../../etc/passwd", below],
    ["./../workspace/x", below],
    ["a/b/c/../../../../x", below],
    [`${"a/".repeat(50)}${"../".repeat(51)}x`, below],
    [".//..//x", below],
    ["x\0.txt", below],
    ["\0", below],
    ["a".repeat(4_097), below],
    ["/..", absolute],
    ["/a/../../b", absolute],
    ["/etc/pass\0wd", absolute],
    ["relative", absolute],
    ["", absolute],
    ["./x", absolute],
    ["~", absolute],
  ] as const)("%j is refused before anything is asked of the engine", (path, kind) => {
    expect(() => resolveContainerPath("/workspace", path, kind)).toThrow(
      expect.objectContaining({ code: "PATH_REFUSED", exitCode: 2 }),
    );
  });

  test("whatever it is made of, it never leaves the working folder, and is what the kernel would make of it", () => {
    const part = fc.oneof(
      fc.constantFrom("..", ".", "", "a", "-x", "~", " ", "\n", "...", "..\\"),
      fc.string({ maxLength: 4 }).filter((text) => !text.includes("\0")),
    );
    fc.assert(
      fc.property(fc.array(part, { maxLength: 12 }), (parts) => {
        const path = parts.join("/");
        const found = attempt(() => resolveContainerPath("/work/place", path, below));

        const leaves = /^\.\.(?:\/|$)/.test(posix.normalize(`./${path}`));
        if (found !== null) {
          expect(found === "/work/place" || found.startsWith("/work/place/")).toBe(true);
          expect(found.split("/")).not.toContain("..");
          expect(found).toBe(posix.normalize(`/work/place/./${path}`).replace(/\/+$/, ""));
        }
        // One that goes out and comes back in by luck is refused too.
        if (leaves) expect(found).toBeNull();
      }),
    );
  });
});

function attempt<Result>(run: () => Result): Result | null {
  try {
    return run();
  } catch {
    return null;
  }
}
