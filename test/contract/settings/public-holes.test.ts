import { copyFileSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { describe, expect } from "vitest";
import { copyBetweenHostAndSandbox } from "../../../src/sandbox/files/copy-between-host-and-sandbox.ts";
import type { ProjectSandboxDeps } from "../../../src/sandbox/open-project-sandboxes.ts";
import { explainSettings } from "../../../src/settings/rules/settings.ts";
import { test } from "../../fakes/folders.ts";
import {
  admissionOf,
  ask,
  endpointAt,
  realKey,
  startGateway,
  startUpstream,
} from "../../fakes/gateway/gateway.ts";
import { goodCall } from "../../fakes/gateway/hostile-requests.ts";
import { httpProxy } from "../../fakes/gateway/naive-proxy.ts";
import { speakRaw } from "../../fakes/gateway/raw-connection.ts";

const portOf = (url: string): number => Number(new URL(url).port);

describe("an answer that breaks off while it is read", () => {
  const told = `{"content":"${realKey}","more":"`;
  /** After the key, within it, and before it. */
  const cuts = [told.length, told.indexOf(realKey) + realKey.length - 1, told.indexOf(realKey)];
  const brokenOff = (cut: number) =>
    startUpstream((_request, response) => {
      response.writeHead(200, { "content-type": "application/json", "content-length": "4096" });
      response.write(told.slice(0, cut), () => setImmediate(() => response.destroy()));
    });

  test("attack CVE-2026-101998: the key is covered in what came before, wherever the reading fails", async ({
    folder,
  }) => {
    for (const [index, cut] of cuts.entries()) {
      await using upstream = await brokenOff(cut);
      await using gateway = await startGateway(join(folder, String(index)));
      await gateway.admit(admissionOf([endpointAt(upstream.url)]));

      const heard = await speakRaw(gateway.door, goodCall("/m/anthropic/v1/messages"));

      expect(upstream.requests).toHaveLength(1);
      expect(heard).toContain("HTTP/1.1 200");
      expect(heard).not.toContain(realKey.slice(0, 8));
    }
  });

  test("control CVE-2026-101998: a proxy that masks what was read to its end passes the rest on as it is", async () => {
    await using upstream = await brokenOff(told.length);
    const naive = createServer(async (_asked, response) => {
      const answer = await fetch(upstream.url);
      let read = "";
      try {
        for await (const piece of answer.body ?? []) read += Buffer.from(piece).toString();
        response.end(read.replaceAll(realKey, "*"));
      } catch {
        response.end(read);
      }
    });
    await new Promise<void>((resolve) => naive.listen(0, "127.0.0.1", resolve));

    const heard = await fetch(`http://127.0.0.1:${(naive.address() as AddressInfo).port}`);

    expect(await heard.text()).toContain(realKey);
    naive.close();
  });
});

describe("a client that brings a credential of its own", () => {
  const theirs = "theirs-0123456789";
  const ways = { authorization: `Bearer ${theirs}`, "x-goog-api-key": theirs, "api-key": theirs };

  test("attack CVE-2026-105452: it does not go on beside ours, whatever header it is in", async ({
    folder,
  }) => {
    await using upstream = await startUpstream((_request, response) => response.end("{}"));
    await using gateway = await startGateway(folder);
    await gateway.admit(admissionOf([endpointAt(upstream.url)]));

    for (const [name, value] of Object.entries(ways)) await ask(gateway.door, { headers: { [name]: value } });

    const passed = upstream.requests.map(({ headers, url }) => JSON.stringify({ headers, url }));
    expect(passed.filter((call) => call.includes(theirs))).toEqual([]);
    expect(upstream.requests.map(({ headers }) => headers["x-api-key"])).toEqual(passed.map(() => realKey));
  });

  test("control CVE-2026-105452: a proxy that puts ours in passes both on", async () => {
    await using upstream = await startUpstream((_request, response) => response.end("{}"));
    await using naive = await httpProxy(portOf(upstream.url), {});

    for (const [name, value] of Object.entries(ways))
      await fetch(`http://127.0.0.1:${naive.port}/`, { headers: { [name]: value } });

    expect(upstream.requests.map(({ headers }) => headers["x-api-key"])).toEqual([realKey, realKey, realKey]);
    expect(upstream.requests.filter(({ headers }) => JSON.stringify(headers).includes(theirs))).toHaveLength(
      Object.keys(ways).length,
    );
  });
});

describe("a link in the folder that an agent worked in", () => {
  /** A working folder in which a file, a folder and a chain of links lead out. */
  function ground(below: string): { readonly folder: string; readonly outside: string } {
    const [folder, outside] = [join(below, "project"), join(below, "outside")];
    for (const each of [join(folder, "src"), outside]) mkdirSync(each, { recursive: true });
    writeFileSync(join(outside, "secret"), "canary");
    symlinkSync("../outside", join(folder, "data"));
    symlinkSync("../outside/secret", join(folder, "notes.txt"));
    symlinkSync("src/again", join(folder, "chain"));
    symlinkSync(outside, join(folder, "src", "again"));
    writeFileSync(join(folder, "plain"), "mine");
    symlinkSync("../plain", join(folder, "src", "plain"));
    return { folder, outside };
  }
  /** No sandbox is reached before the place is judged. */
  const reached = new Error("past the door");
  const deps = {
    folders: {
      list: async () => {
        throw reached;
      },
    },
  } as unknown as ProjectSandboxDeps;
  const copied = (folder: string, from: string, to: string): Promise<unknown> =>
    copyBetweenHostAndSandbox(deps, { from, to }, { folder }).catch((error: unknown) => error);
  const wayOut = { code: "FILE_FAILED", message: expect.stringContaining("leads out of the working folder") };

  test.for([
    ["a file's link is not read", "notes.txt", ":/work"],
    ["nothing below a folder's link is read", "data/secret", ":/work"],
    ["nor through a chain of links", "chain/secret", ":/work"],
    ["nor with a detour", "src/../data/secret", ":/work"],
    ["nothing is written through a folder's link", ":/work/x", "data/x"],
    ["nor into it", ":/work/x", "data"],
    ["nor below a folder that is not there yet", ":/work/x", "data/new/x"],
    ["nor through a chain of links", ":/work/x", "chain/x"],
  ] as const)("attack CVE-2026-103916: %s", async ([, from, to], { folder: below }) => {
    const { folder, outside } = ground(below);

    expect(await copied(folder, from, to)).toMatchObject(wayOut);
    expect(readFileSync(join(outside, "secret"), "utf8")).toBe("canary");
  });

  test("control CVE-2026-103916: a copy that follows links reads and writes outside", ({ folder: below }) => {
    const { folder, outside } = ground(below);

    copyFileSync(join(folder, "notes.txt"), join(folder, "taken"));
    copyFileSync(join(folder, "plain"), join(folder, "chain", "planted"));

    expect(readFileSync(join(folder, "taken"), "utf8")).toBe("canary");
    expect(readFileSync(join(outside, "planted"), "utf8")).toBe("mine");
  });

  test.for([
    ["a place that is named as it is", "OUT/secret", ":/work"],
    ["a place above the folder", "../outside/secret", ":/work"],
    ["a link that stays in the folder", "src/plain", ":/work"],
    ["a new file", ":/work/x", "new"],
  ] as const)("%s is copied as before", async ([, from, to], { folder: below }) => {
    const { folder, outside } = ground(below);

    expect(await copied(folder, from.replace("OUT", outside), to)).not.toMatchObject(wayOut);
  });
});

describe("work that wants the next sandbox to be weaker", () => {
  const weaker = { isolation: "shared-kernel", network: "bridge", limits: { programs32Bit: true } } as const;
  const explained = (projectTrusted: boolean) =>
    new Map(
      explainSettings(
        { flag: {}, environment: {}, project: weaker, user: { isolation: "strong" } },
        { projectTrusted },
      ).map(({ name, value }) => [name, value]),
    );

  test("attack CVE-2026-32048: settings that a branch brings along take no protection away", () => {
    const found = explained(false);

    expect([found.get("isolation"), found.get("network"), found.get("limits.programs32Bit")]).toEqual([
      "strong",
      "gateway",
      false,
    ]);
  });

  test("control CVE-2026-32048: taken at their word, they would", () => {
    const found = explained(true);

    expect([found.get("isolation"), found.get("network"), found.get("limits.programs32Bit")]).toEqual([
      "shared-kernel",
      "bridge",
      true,
    ]);
  });
});
