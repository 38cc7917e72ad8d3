import { expect, test, vi } from "vitest";
import { once } from "../../../src/text/once.ts";

test("something is made once, for all who ask", async () => {
  const make = vi.fn(async () => ({}));
  const get = once(make);

  expect(await get()).toBe(await get());
  expect(make).toHaveBeenCalledTimes(1);
});

test("what could not be made is tried anew by whoever asks next", async () => {
  const make = vi
    .fn<() => Promise<string>>()
    .mockRejectedValueOnce(new Error("away"))
    .mockResolvedValue("here");
  const get = once(make);

  await expect(get()).rejects.toThrow("away");
  expect(await get()).toBe("here");
});
