import { expect, test } from "vitest";
import { findConfinementBreaches } from "../../../../src/engine/docker/confinement-breaches.ts";
import { specOf } from "../../../fakes/engine/containers-suite.ts";

test("swap without a limit is a breach, unless the kernel cannot count it for anybody", () => {
  const inspected = {
    ...{
      HostConfig: { MemorySwap: -1 },
      Config: { User: "" },
      Mounts: [],
      NetworkSettings: { Networks: {} },
    },
  } as unknown as Parameters<typeof findConfinementBreaches>[0];

  const [counted, uncounted] = [true, false].map((limitsSwap) =>
    findConfinementBreaches(inspected, { spec: specOf("image", "runc"), limitsSwap }),
  );

  expect(counted).toContain("the container's swap has no limit");
  expect(uncounted).toEqual(counted?.filter((breach) => breach !== "the container's swap has no limit"));
});
