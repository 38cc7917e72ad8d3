import { createServer, type ServerResponse } from "node:http";
import { join } from "node:path";
import { describe, expect } from "vitest";
import type { ContainerEngine } from "../../../../src/engine/engine.ts";
import { openEngine } from "../../../fakes/engine/engine-at.ts";
import { test } from "../../../fakes/folders.ts";

/** An engine that answers a ping well, and everything else with this. */
async function withAnswer(
  folder: string,
  body: string,
  ask: (engine: ContainerEngine) => Promise<unknown>,
  headers: Record<string, string> = {},
  status = 200,
): Promise<unknown> {
  const socket = join(folder, "engine.sock");
  const server = createServer((request, answer: ServerResponse) => {
    const isPing = request.url === "/_ping";
    answer.writeHead(isPing ? 200 : status, { "api-version": "1.41", ...headers });
    answer.end(isPing ? "OK" : body);
  });
  await new Promise<void>((resolve) => server.listen(socket, resolve));
  try {
    return await ask(openEngine(`unix://${socket}`)).catch((error: unknown) => error);
  } finally {
    server.close();
  }
}

const scope = { projectId: "x", worktree: "." };

test("an engine's parts have the revision of their package where that is told", async ({ folder }) => {
  const part = (Name: unknown, Version: unknown, GitCommit?: string) => ({
    ...{ Name, Version },
    ...(GitCommit !== undefined && { Details: { GitCommit } }),
  });
  const Components = [
    part("Engine", "20.10.24+dfsg1", "5d6db84"),
    part("runc", "1.1.5+ds1", "1.1.5+ds1-1+deb12u1"),
    part("docker-init", "0.19.0", ""),
    ...[part("crun", "1.8.1"), part(7, "1"), part("odd", null), null, "x"],
  ];

  const told = await withAnswer(folder, JSON.stringify({ Components }), (engine) => engine.listComponents());

  expect(told).toEqual([
    { name: "Docker", version: "20.10.24+dfsg1" },
    { name: "runc", version: "1.1.5+ds1-1+deb12u1" },
    { name: "docker-init", version: "0.19.0" },
    { name: "crun", version: "1.8.1" },
  ]);
  expect(await withAnswer(folder, "{}", (engine) => engine.listComponents())).toEqual([]);
});

describe("an engine that answers strangely", () => {
  for (const body of ["garbage", "null", "7", ""]) {
    test(`${JSON.stringify(body)} ends every question in ENGINE_FAILED`, async ({ folder }) => {
      for (const ask of [
        (engine: ContainerEngine) => engine.info(),
        (engine: ContainerEngine) => engine.listContainers(scope),
        (engine: ContainerEngine) => engine.listSandboxesInUse(),
        (engine: ContainerEngine) => engine.volumes(scope),
      ]) {
        expect(await withAnswer(folder, body, ask)).toMatchObject({ code: "ENGINE_FAILED" });
      }
    });
  }

  test("rows that lack what a row must have are left out; states that nobody knows are not alive", async ({
    folder,
  }) => {
    const rows = [
      { Id: "a", Names: null },
      null,
      { Id: "b", Names: ["/b"], State: "stopping", Labels: {} },
      { Id: "c", Names: ["/c"], State: "odd", Labels: {} },
    ];

    expect(
      await withAnswer(folder, JSON.stringify(rows), (engine) => engine.listContainers(scope)),
    ).toMatchObject([
      { name: "b", state: "running" },
      { name: "c", state: "dead" },
    ]);
    expect(await withAnswer(folder, '{"Volumes":5}', (engine) => engine.volumes(scope))).toEqual([]);
  });

  test.for([
    [{ "builder-version": "2" }, "buildkit"],
    [{ server: "Docker/20.10.24 (linux)" }, "buildkit"],
    [{ server: "Libpod/4.3.1" }, "classic"],
  ] as const)("the headers %o mean the builder %s", async ([headers, builder], { folder }) => {
    expect(await withAnswer(folder, "{}", (engine) => engine.info(), headers)).toMatchObject({ builder });
  });
});

test.for<[message: string, expected: object | undefined]>([
  ["Container abc is not paused", undefined],
  ["Cannot unpause container abc: cannot resume a running process: unknown", undefined],
  ["Cannot unpause container abc: the freezer broke", { code: "ENGINE_FAILED" }],
])("an unpause that the engine refuses with %j", async ([message, expected], { folder }) => {
  const unpause = (engine: ContainerEngine) =>
    engine.open().then(({ containers }) => containers.unpause("abc"));

  const result = await withAnswer(folder, JSON.stringify({ message }), unpause, {}, 500);

  if (expected === undefined) expect(result).toBeUndefined();
  else expect(result).toMatchObject(expected);
});
