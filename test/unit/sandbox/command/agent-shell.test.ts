import { expect, test } from "vitest";
import { findExcessRights } from "../../../../src/sandbox/command/agent-shell.ts";

const none = "0000000000000000";

function status(change: Readonly<Record<string, string | null>> = {}): string {
  const fields = {
    ...{ Name: "cat", Uid: "1000\t1000\t1000\t1000", Gid: "1000\t1000\t1000\t1000" },
    ...{ CapInh: none, CapPrm: none, CapEff: none, CapBnd: "00000000000000e0", CapAmb: none },
    ...change,
  };
  return Object.entries(fields)
    .flatMap(([name, value]) => (value === null ? [] : `${name}:\t${value}\n`))
    .join("");
}

test.for<[title: string, status: string, problem: string | null]>([
  ["nothing", status(), null],
  ["nothing, by a kernel that tells less", status({ CapInh: null, CapAmb: null }), null],
  ["capabilities that it has", status({ CapPrm: "00000000000000e0" }), "CapPrm 00000000000000e0"],
  ["capabilities that it uses", status({ CapEff: "0000000000000020" }), "CapEff"],
  ["capabilities that it hands on", status({ CapInh: "0000000000000020" }), "CapInh"],
  ["capabilities that nobody tells of", status({ CapEff: null }), "CapEff unknown"],
  ["another user", status({ Uid: "0\t0\t0\t0" }), "user"],
  ["a way back to another user", status({ Uid: "1000\t1000\t0\t1000" }), "user"],
  ["another group", status({ Gid: "0\t0\t0\t0" }), "user"],
  ["nothing that could be read", "", "user"],
])("whoever comes in with %s is told apart", ([, text, problem]) => {
  if (problem === null) expect(findExcessRights(text)).toBeNull();
  else expect(findExcessRights(text)).toContain(problem);
});
